package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/diagnostic"
)

func (t *task) check() {
	t.basics()
	t.lifecycle()
	t.taskRestart()
	t.resources()
	t.logs()
	t.taskConstraints(t.t.Constraints, "task", t.at)
	eachRanking(t.checker, t.t.Affinities, "affinity", "affinities", t.affinity, t.at)
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

// maxTaskName is the maximum length of a task's name, in bytes. File systems
// limit the names of its output files.
const maxTaskName = 240

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
	t.notNegative(t.at.Attr("kill_timeout"), t.t.KillTimeout)
	t.notNegative(t.at.Attr("shutdown_delay"), &t.t.ShutdownDelay)
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

func (t *task) dispatchPayload() {
	p := t.t.DispatchPayload
	if p == nil {
		return
	}
	at := t.at.Attr("dispatch_payload")
	if leavesAllocation("task/local", p.File) {
		t.wrong(at.Attr("file"), "file lies outside of the allocation", fmt.Sprintf("%q", p.File), "write a path below the task's local directory")
	}
	if t.job.ParameterizedJob == nil {
		t.warn(at, "dispatch_payload has no effect", "the job is not parameterized", "add parameterized {} to the job")
	} else if p.File == "" {
		t.warn(at, "dispatch_payload has no file", "", `add file = "NAME"`)
	}
}

const maxActionName = 128 // characters

func (t *task) actions() {
	seen := make(map[string]bool, len(t.t.Actions))
	for a, at := range blocks(t.t.Actions, "action", t.at) {
		if a.Command == "" {
			t.refuse(at, "action has no command", fmt.Sprintf("action %q", a.Name), `add command = "/PATH"`)
		}
		blank := strings.ContainsFunc(a.Name, func(r rune) bool { return r == 0 || unicode.IsSpace(r) })
		if n := utf8.RuneCountInString(a.Name); n < 1 || n > maxActionName || blank {
			t.wrong(at, "invalid action name", fmt.Sprintf("%q", a.Name), fmt.Sprintf("write 1 to %d characters without blanks", maxActionName))
		}
		t.again(seen, at, a.Name)
	}
}

// dockerPorts warns about labels in a container's ports option that no network
// of the group has: Nomad accepts the job, but the container does not start. It
// is the only driver option that refers to another part of the job.
func (t *task) dockerPorts() {
	if t.t.Driver != "docker" && t.t.Driver != "podman" {
		return
	}
	labels, _ := t.t.Config["ports"].([]any)
	known := slices.Concat(t.g.ports.group, t.g.ports.legacy)
	for i, label := range labels {
		label, ok := label.(string)
		if !ok || slices.Contains(known, label) || strings.Contains(label, "${") {
			continue
		}
		t.warn(t.at.Attr("config").Index("ports", i), fmt.Sprintf("port %q is not defined", label), fmt.Sprintf("group %q has no such port", t.g.name),
			cmp.Or(diagnostic.DidYouMean(label, known), fmt.Sprintf("add port %q {} to a network block of the group", label)))
	}
}
