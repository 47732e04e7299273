package taskenv

import (
	"maps"
	"path/filepath"

	"github.com/hashicorp/nomad/api"
)

// AllocInfo identifies the allocation of a task.
type AllocInfo struct {
	ID    string // a UUID
	Name  string // <job id>.<group>[<index>]
	Index int
}

// A Builder collects the parts of a task's environment. Build may be called
// repeatedly while hooks and templates add to it. A Builder is not safe for
// concurrent use; maps and slices passed to it must not change afterwards.
type Builder struct {
	// Dirs are the directories as the task sees them. They are only needed for
	// drivers that isolate the file system; the default is SetClientDir's.
	Dirs Dirs
	// Cores are those granted to a task that requests some.
	Cores Cores

	Ports []Port // of the group
	// TaskPorts are the ports of tasks with the deprecated network block in their
	// resources.
	TaskPorts map[string][]Port
	Network   Network
	View      View // where the task sees the ports of this machine; nil: where the machine does

	VaultToken, VaultNamespace string // VAULT_TOKEN and VAULT_NAMESPACE, unless they are empty

	// HostEnv are the variables of the host, in the form of os.Environ. Those
	// with credentials of Nomad, Consul, Vault and clouds are omitted. Tasks
	// whose file system comes from an image inherit none.
	HostEnv []string
	// TemplateEnv are the variables of templates with env = true. They are taken
	// literally and override all others.
	TemplateEnv map[string]string

	node  *Node
	alloc AllocInfo
	job   *api.Job
	group *api.TaskGroup
	task  *api.Task

	client             Dirs // on the host
	taskDir, sharedDir string
	identities         map[string]string // tokens by identity, "" for the default identity
	secrets            map[string]string
	hooks              []hookEnv
}

// Dirs are the directories in the environment of a task: the values of
// NOMAD_ALLOC_DIR, NOMAD_TASK_DIR and NOMAD_SECRETS_DIR.
type Dirs struct{ Alloc, Task, Secrets string }

type hookEnv struct {
	hook string
	env  map[string]string
}

// NewBuilder returns a Builder for a task of a canonical job. If task is nil,
// it builds the environment of the allocation itself, which has no task name,
// limits, task meta or env block.
func NewBuilder(node *Node, alloc AllocInfo, job *api.Job, group *api.TaskGroup, task *api.Task) *Builder {
	if node == nil {
		node = &Node{}
	}
	return &Builder{node: node, alloc: alloc, job: job, group: group, task: task}
}

// SetClientDir sets the allocation directory on this machine, which determines
// the others: alloc, <task>, <task>/local, <task>/secrets. Without a task,
// NOMAD_ALLOC_DIR is the directory itself.
func (b *Builder) SetClientDir(allocDir string) *Builder {
	if b.task == nil {
		b.taskDir, b.sharedDir, b.client = allocDir, allocDir, Dirs{Alloc: allocDir}
		return b
	}
	b.taskDir = filepath.Join(allocDir, b.task.Name)
	b.sharedDir = filepath.Join(allocDir, "alloc")
	b.client = Dirs{
		Alloc:   b.sharedDir,
		Task:    filepath.Join(b.taskDir, "local"),
		Secrets: filepath.Join(b.taskDir, "secrets"),
	}
	return b
}

// SetIdentityToken adds the token of a workload identity to the environment.
// The name of the default identity is empty.
func (b *Builder) SetIdentityToken(identity, token string) *Builder {
	if b.identities == nil {
		b.identities = map[string]string{}
	}
	b.identities[identity] = token
	return b
}

// SetSecrets adds values of secret blocks by "secret.<block>.<key>". They are
// available to references, but never become variables.
func (b *Builder) SetSecrets(secrets map[string]string) *Builder {
	merged := maps.Clone(b.secrets) // snapshots share the old map
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, secrets)
	b.secrets = merged
	return b
}

// SetHookEnv replaces the variables of a hook. Hooks are applied in the order
// in which they first set variables.
func (b *Builder) SetHookEnv(hook string, env map[string]string) *Builder {
	for i := range b.hooks {
		if b.hooks[i].hook == hook {
			b.hooks[i].env = env
			return b
		}
	}
	b.hooks = append(b.hooks, hookEnv{hook, env})
	return b
}
