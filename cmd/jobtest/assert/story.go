package assert

import (
	"fmt"
	"slices"

	"taskrun/cmd/jobtest"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// story is the outcome of a run, with its allocations and events by name.
type story struct {
	*jobtest.Outcome
	events  map[string][]event.Event // by the name of their allocation
	numbers map[*fold.Alloc]int      // of the allocations of a name, from 1
	byID    map[string]*fold.Alloc
}

func storyOf(o *jobtest.Outcome) *story {
	s := &story{Outcome: o, events: map[string][]event.Event{}, numbers: map[*fold.Alloc]int{}, byID: map[string]*fold.Alloc{}}
	count := map[string]int{}
	for _, a := range o.State.Allocs {
		name := nameOf(a)
		count[name]++
		s.numbers[a], s.byID[a.ID] = count[name], a
	}
	for _, e := range o.Events {
		if e.Alloc != nil {
			name := jobtest.Place{Group: e.Alloc.Group, Index: e.Alloc.Index()}.Alloc()
			s.events[name] = append(s.events[name], e)
		}
	}
	return s
}

func placeOf(a *fold.Alloc) jobtest.Place { return jobtest.Place{Group: a.Group, Index: a.Index()} }

func nameOf(a *fold.Alloc) string { return placeOf(a).Alloc() }

// find returns the allocation of a place: that of a number or else the latest one. Of
// those that run beside each other, as canaries do, it is the last to be placed.
func (s *story) find(p jobtest.Place) (*fold.Alloc, error) {
	name := p.Alloc()
	all := slices.DeleteFunc(slices.Clone(s.State.Allocs), func(a *fold.Alloc) bool { return nameOf(a) != name })
	switch {
	case len(all) == 0:
		return nil, fmt.Errorf("allocation %q was never placed", name)
	case p.Number > len(all):
		return nil, fmt.Errorf("there is no %s#%d: %s", name, p.Number, hadNames(name, len(all)))
	case p.Number > 0:
		return all[p.Number-1], nil
	}
	final := s.State.Final()
	for _, a := range slices.Backward(all) {
		if slices.Contains(final, a) {
			return a, nil
		}
	}
	return all[len(all)-1], nil
}

func hadNames(name string, n int) string {
	if n == 1 {
		return fmt.Sprintf("%s was placed once", name)
	}
	return fmt.Sprintf("%s was placed %d times", name, n)
}

// outcome returns what the events do not tell of a task.
func (s *story) outcome(t *fold.Task) *jobtest.TaskOutcome {
	if o := s.Tasks[jobtest.TaskKey{Alloc: t.Alloc.ID, Task: t.Name}]; o != nil {
		return o
	}
	return &jobtest.TaskOutcome{}
}
