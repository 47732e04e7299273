package ui

import (
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// Wait is a task that could not run, and what it waited for.
type Wait struct {
	Task *Task
	For  string
}

// waiting tells who of an allocation is pending and what for, by the order of
// lifecycles: prestart, main, poststart. Poststop tasks do not count: they are
// meant to wait. See
// https://developer.hashicorp.com/nomad/docs/job-specification/lifecycle.
func waiting(a *Alloc) []Wait {
	var prestart, sidecars, mains []string
	for _, t := range a.Tasks {
		switch hook, sidecar := t.lifecycle(); {
		case hook == api.TaskLifecycleHookPrestart && sidecar && t.State != "running":
			sidecars = append(sidecars, t.Name)
		case hook == api.TaskLifecycleHookPrestart && !sidecar && (t.State != "dead" || t.Failed):
			prestart = append(prestart, t.Name)
		case hook == "" && t.State == "pending":
			mains = append(mains, t.Name)
		}
	}
	var waits []Wait
	for _, t := range a.Tasks {
		hook, _ := t.lifecycle()
		if t.State != "pending" || t.Poststop() || t.Failed {
			continue
		}
		reason := ""
		switch {
		case t.Restarts > 0:
			reason = "its restart"
		case hook == "" && len(prestart) > 0:
			reason = "the end of " + list("prestart task", prestart)
		case hook == "" && len(sidecars) > 0:
			reason = "the start of " + list("prestart sidecar", sidecars)
		case hook == api.TaskLifecycleHookPoststart && len(mains) > 0:
			reason = "the start of " + list("main task", mains)
		default:
			reason = "its start"
		}
		waits = append(waits, Wait{t, reason})
	}
	return waits
}

// lifecycle returns the task's hook, "" for a main task, and its sidecar flag.
func (t *Task) lifecycle() (hook string, sidecar bool) {
	if t.spec == nil || t.spec.Lifecycle == nil {
		return "", false
	}
	return t.spec.Lifecycle.Hook, t.spec.Lifecycle.Sidecar
}

// list returns `main task "a"` or `main tasks "a", "b"`.
func list(kind string, names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	if len(names) > 1 {
		kind += "s"
	}
	return kind + " " + strings.Join(quoted, ", ")
}
