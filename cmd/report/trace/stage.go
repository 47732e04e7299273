package trace

import (
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

var stages = []Stage{Prestart, Sidecar, Main, Poststart, Poststop}

// rank returns the place of a stage in the lifecycle; that of Unknown is -1.
func (s Stage) rank() int { return slices.Index(stages, s) }

// stagesOf returns the stages of the tasks of an allocation by name, in the order of the
// job; none if its job is not known.
func stagesOf(a *event.Alloc, jobs []*api.Job) (names []string, of map[string]Stage) {
	of = map[string]Stage{}
	for _, j := range jobs {
		if !a.Of(*j.ID) {
			continue
		}
		if g := j.LookupTaskGroup(a.Group); g != nil {
			for _, t := range g.Tasks {
				names = append(names, t.Name)
				of[t.Name] = stageOf(t)
			}
		}
	}
	return names, of
}

// stageOf returns the stage of a task; see
// https://developer.hashicorp.com/nomad/docs/job-specification/lifecycle.
func stageOf(t *api.Task) Stage {
	switch l := t.Lifecycle; {
	case l == nil || l.Hook == "":
		return Main
	case l.Hook == api.TaskLifecycleHookPrestart && l.Sidecar:
		return Sidecar
	default:
		return Stage(l.Hook)
	}
}

// awaits reports what a task waits for before its first start: the ends of tasks of
// some stages, and the starts of tasks of others.
func (s Stage) awaits() (ends, starts []Stage) {
	switch s {
	case Main:
		return []Stage{Prestart}, []Stage{Sidecar}
	case Poststart:
		return nil, []Stage{Main}
	case Poststop:
		return []Stage{Prestart, Sidecar, Main, Poststart}, nil
	case Unknown:
		return []Stage{Unknown}, nil
	case Prestart, Sidecar:
	}
	return nil, nil
}
