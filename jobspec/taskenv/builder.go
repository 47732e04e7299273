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
	node  *Node
	alloc AllocInfo
	job   *api.Job
	group *api.TaskGroup
	task  *api.Task

	view               dirs // as the task sees them; zero: like on the host
	client             dirs // on the host
	taskDir, sharedDir string

	cores Cores

	ports       []Port
	legacyPorts map[string][]Port // by task
	network     networkStatus
	networkView View // nil: the task sees the machine's addresses

	vaultToken, vaultNamespace string
	identities                 map[string]string // tokens by identity, "" for the default identity

	host     []string // "K=V"
	secrets  map[string]string
	hooks    []hookEnv
	template map[string]string
}

// dirs are the directories in the environment of a task.
type dirs struct{ alloc, task, secrets string }

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
		b.taskDir, b.sharedDir, b.client = allocDir, allocDir, dirs{alloc: allocDir}
		return b
	}
	b.taskDir = filepath.Join(allocDir, b.task.Name)
	b.sharedDir = filepath.Join(allocDir, "alloc")
	b.client = dirs{
		alloc:   b.sharedDir,
		task:    filepath.Join(b.taskDir, "local"),
		secrets: filepath.Join(b.taskDir, "secrets"),
	}
	return b
}

// SetDirs sets the directories as the task sees them: the values of
// NOMAD_ALLOC_DIR, NOMAD_TASK_DIR and NOMAD_SECRETS_DIR. It is only needed for
// drivers that isolate the file system; the default is SetClientDir's.
func (b *Builder) SetDirs(alloc, task, secrets string) *Builder {
	b.view = dirs{alloc, task, secrets}
	return b
}

// SetCores sets the cores granted to a task that requests some.
func (b *Builder) SetCores(cores Cores) *Builder {
	b.cores = cores
	return b
}

// SetHostEnv sets the variables of the host, in the form of os.Environ. Those
// with credentials of Nomad, Consul, Vault and clouds are omitted. Tasks whose
// file system comes from an image inherit none.
func (b *Builder) SetHostEnv(environ []string) *Builder {
	b.host = environ
	return b
}

// SetPorts sets the ports of the group.
func (b *Builder) SetPorts(ports []Port) *Builder {
	b.ports = ports
	return b
}

// SetTaskPorts sets the ports of a task in the group with the deprecated
// network block in its resources.
func (b *Builder) SetTaskPorts(task string, ports []Port) *Builder {
	if b.legacyPorts == nil {
		b.legacyPorts = map[string][]Port{}
	}
	b.legacyPorts[task] = ports
	return b
}

// SetNetworkStatus sets the interface and the address of the allocation in its
// own network namespace.
func (b *Builder) SetNetworkStatus(iface, address string) *Builder {
	b.network = networkStatus{iface, address}
	return b
}

// SetView sets where the task sees the ports of this machine.
func (b *Builder) SetView(view View) *Builder {
	b.networkView = view
	return b
}

// SetVaultToken sets VAULT_TOKEN and VAULT_NAMESPACE, unless they are empty.
func (b *Builder) SetVaultToken(token, namespace string) *Builder {
	b.vaultToken, b.vaultNamespace = token, namespace
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

// SetTemplateEnv sets the variables of templates with env = true. They are
// taken literally and override all others.
func (b *Builder) SetTemplateEnv(env map[string]string) *Builder {
	b.template = env
	return b
}
