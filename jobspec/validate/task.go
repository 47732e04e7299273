package validate

import (
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// maxTaskName is the longest name of a task, in bytes, that file systems take
// with what is added for the files of its output.
const maxTaskName = 240

// task is the checker inside one task.
type task struct {
	*checker
	g  *group
	t  *api.Task
	at jobspec.Path
}

func (t *task) check() {
	t.basics()
	t.lifecycle()
	t.taskRestart()
	t.resources()
	t.logs()
	t.taskConstraints(t.t.Constraints, "task", t.at)
	t.affinities(t.t.Affinities, t.at)
	t.services()
	t.connectProxy()
	t.artifacts()
	t.templates()
	t.actions()
	t.dispatchPayload()
	t.volumeMounts()
	t.csiPlugin()
	t.vault()
	t.identities()
	t.secrets()
	t.schedule()
	t.dockerPorts()
	t.references()
	t.interpolations()
}

func (t *task) basics() {
	name := t.t.Name
	switch {
	case name == "":
		t.refuse(t.at, "task has no name", "", `name it in the header: task "NAME" { … }`)
	case name == "alloc":
		t.refuse(t.at, `a task cannot be named "alloc"`, "the allocation has a directory of that name", "rename it")
	case strings.ContainsAny(name, `/\`):
		t.refuse(t.at, "task name contains a slash", fmt.Sprintf("%q", name), "rename it: the task's directory has its name")
	case len(name) > maxTaskName:
		t.refuse(t.at, "task name is too long", fmt.Sprintf("it has %d bytes", len(name)), fmt.Sprintf("keep it to %d bytes: files have its name", maxTaskName))
	case strings.Contains(name, "\x00"):
		t.refuse(t.at, "task name contains a NUL character", fmt.Sprintf("%q", name), "")
	}
	if t.t.Driver == "" {
		t.refuse(t.at, "task has no driver", fmt.Sprintf("task %q", name), `add driver = "raw_exec", "docker" or the like`)
	}
	t.times()
	t.signal(t.at.Attr("kill_signal"), t.t.KillSignal)
}

func (t *task) times() {
	kill := deref(t.t.KillTimeout)
	t.notNegative(t.at.Attr("kill_timeout"), "kill_timeout", t.t.KillTimeout)
	t.notNegative(t.at.Attr("shutdown_delay"), "shutdown_delay", &t.t.ShutdownDelay)
	if u := t.g.tg.Update; u != nil && t.kind == api.JobTypeService && deref(u.ProgressDeadline) > 0 && kill > *u.ProgressDeadline {
		t.refuse(t.at.Attr("kill_timeout"), "kill_timeout exceeds progress_deadline",
			fmt.Sprintf("kill_timeout is %s and update.progress_deadline is %s", plain(kill), plain(*u.ProgressDeadline)),
			"write a shorter kill_timeout or a later progress_deadline")
	}
}

func (t *task) lifecycle() {
	l := t.t.Lifecycle
	if l == nil {
		return
	}
	at := t.at.Attr("lifecycle")
	t.choice(at.Attr("hook"), "lifecycle hook", l.Hook, api.TaskLifecycleHookPrestart, api.TaskLifecycleHookPoststart, api.TaskLifecycleHookPoststop)
	if l.Hook == api.TaskLifecycleHookPoststop && l.Sidecar {
		t.warn(at.Attr("sidecar"), "sidecar has no effect", "a poststop task runs once, when all others have ended", "remove it")
	}
}

// connectProxy checks a task that an API client declared to be a sidecar proxy.
func (t *task) connectProxy() {
	service, ok := strings.CutPrefix(t.t.Kind, "connect-proxy:")
	if !ok || service == "" {
		return
	}
	at := t.at.Attr("kind")
	if len(t.t.Services) > 0 {
		t.refuse(at, "a connect proxy has no services", fmt.Sprintf("kind is %q", t.t.Kind), "move them to the group")
	}
	if t.t.Leader {
		t.refuse(at, "a connect proxy cannot lead", fmt.Sprintf("kind is %q", t.t.Kind), "remove leader")
	}
	for _, s := range t.g.tg.Services {
		if s != nil && s.Name == service && s.Connect != nil && s.Connect.SidecarService != nil {
			return
		}
	}
	t.refuse(at, fmt.Sprintf("service %q has no sidecar", service), fmt.Sprintf("kind is %q", t.t.Kind), "add connect { sidecar_service {} } to the service")
}

func (t *task) dispatchPayload() {
	p := t.t.DispatchPayload
	if p == nil {
		return
	}
	at := t.at.Attr("dispatch_payload")
	if leavesAllocation("task/local", p.File) {
		t.refuse(at.Attr("file"), "file lies outside of the allocation", fmt.Sprintf("%q", p.File), "write a path below the task's local directory")
	}
	if t.job.ParameterizedJob == nil {
		t.warn(at, "dispatch_payload has no effect", "the job is not parameterized", "add parameterized {} to the job")
	} else if p.File == "" {
		t.warn(at, "dispatch_payload has no file", "", `add file = "NAME"`)
	}
}
