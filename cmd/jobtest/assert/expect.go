package assert

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/jobtest"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// expected returns a failure for each name in expect_failures that has not failed.
func (v *view) expected() (all []Failure) {
	for _, e := range v.run.ExpectFailures {
		if v.failed(e.Name) {
			continue
		}
		f := v.hide.failure(e.Range, fmt.Sprintf("%q has not failed", e.Name), "expect_failures names it")
		if p, err := v.names.Several(e.Name); err == nil && p.Group != "" {
			v.looked = nil
			v.look(p)
			f.Targets = v.looked
		}
		all = append(all, f)
	}
	return all
}

// failed reports whether a task, an allocation or a check has failed at some time.
func (v *view) failed(name string) bool {
	return v.checkFailed(name) || slices.ContainsFunc(v.o.State.Allocs, func(a *fold.Alloc) bool { return v.means(name, a) })
}

func (v *view) checkFailed(name string) bool {
	return slices.ContainsFunc(v.o.Events, func(e event.Event) bool {
		c, ok := e.Body.(event.Check)
		return ok && c.Status == "failure" && (c.Check == name || c.Service == name)
	})
}

// means reports whether a name is that of a failed allocation, or of a failed task in
// it. A name without an index means all allocations of its group.
func (v *view) means(name string, a *fold.Alloc) bool {
	t, err := v.names.Parse(name)
	if err != nil || !t.Matches(a.Group, a.Index()) {
		return false
	}
	if t.Task == "" {
		return a.Status == api.AllocClientStatusFailed
	}
	return slices.ContainsFunc(a.Tasks, func(of *fold.Task) bool { return of.Name == t.Task && of.Failed })
}

// unexpected returns failures for tasks, allocations and checks that failed
// although the test does not expect it.
func (v *view) unexpected() (all []Failure) {
	for _, a := range v.o.State.Final() {
		if a.Status != api.AllocClientStatusFailed || v.isExpected(a) {
			continue
		}
		name := nameOf(a)
		all = append(all, v.hide.failure(v.run.Range, fmt.Sprintf("allocation %q has failed", name), cmp.Or(why(a), v.o.Cause), name))
	}
	if len(all) == 0 && v.o.ExitCode != 0 && len(v.run.ExpectFailures) == 0 {
		all = append(all, v.hide.failure(v.run.Range, fmt.Sprintf("the run has ended with exit code %d", v.o.ExitCode), v.o.Cause))
	}
	return all
}

// why names the task that failed first in an allocation, and says how.
func why(a *fold.Alloc) string {
	if a.Failure == nil {
		return ""
	}
	t := a.Failure.Task
	switch c := t.Cause(); {
	case c.Reason == fold.Exited && c.Signal != 0:
		return fmt.Sprintf("task %q was ended by signal %d", t.Name, c.Signal)
	case c.Reason == fold.Exited:
		return fmt.Sprintf("task %q ended with exit code %d", t.Name, c.Code)
	case c.Message != "":
		return fmt.Sprintf("task %q: %s", t.Name, c.Message)
	}
	return fmt.Sprintf("task %q has failed", t.Name)
}

// isExpected reports whether expect_failures names a failed allocation, a task that
// failed in it, or a check that failed.
func (v *view) isExpected(a *fold.Alloc) bool {
	return slices.ContainsFunc(v.run.ExpectFailures, func(e jobtest.Reference) bool {
		return v.means(e.Name, a) || v.checkFailed(e.Name)
	})
}
