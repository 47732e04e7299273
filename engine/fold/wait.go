package fold

import "github.com/hashicorp/nomad/api"

// Wait is a task that has not run, and the reason why it waits.
type Wait struct {
	Task  *Task
	For   Awaited
	Tasks []string // the tasks it waits for; empty: none
}

// Awaited is the event that a task waits for.
type Awaited uint8

// Events that tasks wait for.
const (
	ItsStart Awaited = iota
	ItsRestart
	PrestartEnd  // end of prestart tasks
	SidecarStart // start of prestart sidecars
	MainStart    // start of main tasks
)

// waiting returns the pending tasks of an allocation in lifecycle order:
// prestart, main, poststart. Poststop tasks are supposed to wait and do not
// count. See
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
		w := Wait{Task: t}
		switch {
		case t.Halted:
		case t.Restarts > 0:
			w.For = ItsRestart
		case hook == "" && len(prestart) > 0:
			w.For, w.Tasks = PrestartEnd, prestart
		case hook == "" && len(sidecars) > 0:
			w.For, w.Tasks = SidecarStart, sidecars
		case hook == api.TaskLifecycleHookPoststart && len(mains) > 0:
			w.For, w.Tasks = MainStart, mains
		}
		waits = append(waits, w)
	}
	return waits
}

// lifecycle returns the task's hook ("" for a main task) and its sidecar flag.
func (t *Task) lifecycle() (hook string, sidecar bool) {
	if t.spec == nil || t.spec.Lifecycle == nil {
		return "", false
	}
	return t.spec.Lifecycle.Hook, t.spec.Lifecycle.Sidecar
}
