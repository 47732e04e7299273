package event

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Canonical returns events in an order that does not depend on which goroutine was
// first, and numbers them from 1. It sorts events by time, and those of one moment
// by job, group, index and task: first the events of the job, then, for each
// allocation, its beginning, the events of its tasks, services and checks, and the
// consequences. The events of one task or one check keep their order. If an
// allocation has several statuses in one moment after its first one, only the last
// is kept: the others depend on which of its tasks was first.
func Canonical(events []Event) []Event {
	var c Canon
	sorted := c.Sort(slices.Clone(events))
	for i := range sorted {
		sorted[i].Seq = uint64(i) + 1
	}
	return sorted
}

// Canon puts the events of a run in canonical order, some after the other. The zero
// value is ready.
type Canon struct {
	allocs      map[string]*listed // by ID
	deployments map[string]bool    // by ID: they have begun
}

// Sort sorts events, all of which come after those that were sorted before, and
// returns those that count, in the same memory.
func (c *Canon) Sort(events []Event) []Event {
	slices.SortStableFunc(events, func(a, b Event) int { return a.Time.Compare(b.Time) })
	c.meet(events)
	counting := events[:0]
	for first := 0; first < len(events); {
		next := first + 1
		for next < len(events) && events[next].Time.Equal(events[first].Time) {
			next++
		}
		counting = append(counting, c.sort(events[first:next])...)
		first = next
	}
	return counting
}

// listed is an allocation.
type listed struct {
	*Alloc
	began      time.Time
	replaces   string
	generation int  // how many it comes after in its place
	begun      bool // its first status was sorted
}

// meet takes in the allocations of a run.
func (c *Canon) meet(events []Event) {
	if c.allocs == nil {
		c.allocs, c.deployments = map[string]*listed{}, map[string]bool{}
	}
	var met []*listed
	for _, e := range events {
		if e.Alloc == nil {
			continue
		}
		a := c.allocs[e.Alloc.ID]
		if a == nil {
			a = &listed{Alloc: e.Alloc, began: e.Time}
			c.allocs[e.Alloc.ID] = a
			met = append(met, a)
		}
		if s, ok := e.Body.(AllocStatus); ok && s.Replaces != "" && a.replaces == "" {
			a.replaces = s.Replaces
		}
	}
	for _, a := range met {
		for before := c.allocs[a.replaces]; before != nil && a.generation < len(c.allocs); before = c.allocs[before.replaces] {
			a.generation++
		}
	}
}

// rank is where an event is listed among those of its moment. Those of one rank
// have a history.
type rank struct {
	job   string
	late  bool // it is a consequence of events of the job's allocations
	alloc *listed
	part  part
	task  string
	kind  kind
	name  string
}

type part uint8

// The parts of the events of an allocation in one moment.
const (
	beginning part = iota // it was placed
	inside                // its tasks, services and checks
	outcome               // its health, then its status
	aftermath             // consequences for the job
)

type kind uint8

// The kinds of histories.
const (
	lifeOf kind = iota // of a job, a task or an allocation
	serviceOf
	checkOf
	healthOf
	statusOf
	outputOf
	progressOf
	noticeOf
	variableOf
)

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(r.job, o.job), compareFlags(r.late, o.late), r.alloc.compare(o.alloc),
		cmp.Compare(r.part, o.part), cmp.Compare(r.task, o.task), cmp.Compare(r.kind, o.kind), cmp.Compare(r.name, o.name))
}

func compareFlags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// compare compares allocations; nil means none and comes first.
func (a *listed) compare(b *listed) int {
	if a == nil || b == nil {
		return compareFlags(a != nil, b != nil)
	}
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Index(), b.Index()), a.began.Compare(b.began),
		cmp.Compare(a.generation, b.generation), cmp.Compare(a.ID, b.ID))
}

// sort sorts the events of a moment and returns those that count.
func (c *Canon) sort(moment []Event) []Event {
	if len(moment) == 1 {
		c.rank(moment[0])
		return moment
	}
	type ranked struct {
		Event
		rank
	}
	list := make([]ranked, len(moment))
	for i, e := range moment {
		list[i] = ranked{e, c.rank(e)}
	}
	another := map[string]bool{} // jobs whose next version comes later in this moment
	for i, r := range slices.Backward(list) {
		switch b := r.Body.(type) {
		case Version:
			another[b.Job] = true
		case Deployment:
			list[i].late = r.late && !another[b.Job]
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return a.compare(b.rank) })
	counting := moment[:0]
	for i, r := range list {
		if r.kind == statusOf && i+1 < len(list) && r.compare(list[i+1].rank) == 0 {
			continue
		}
		counting = append(counting, r.Event)
	}
	return counting
}

func (c *Canon) rank(e Event) rank {
	r := rank{task: e.Task}
	if e.Alloc != nil {
		r.job, r.alloc, r.part = e.Alloc.Job, c.allocs[e.Alloc.ID], inside
	}
	switch b := e.Body.(type) {
	case Version:
		r.job = b.Job
	case Scaled:
		r.job = b.Job
	case Deployment:
		r.job, r.late = b.Job, c.deployments[b.ID]
		c.deployments[b.ID] = true
	case Evaluation:
		r.job = b.Job
		if b.Alloc != "" {
			r.alloc, r.part = c.allocs[b.Alloc], aftermath
		}
	case Service:
		r.kind, r.name = serviceOf, b.ID
	case Check:
		r.kind, r.name = checkOf, fmt.Sprintf("%q %q", b.Service, b.Check)
	case AllocHealth:
		r.part, r.kind = outcome, healthOf
	case AllocStatus:
		r.part, r.kind = outcome, statusOf
		if r.alloc != nil && !r.alloc.begun {
			r.alloc.begun, r.part = true, beginning
		}
	case Output:
		r.kind, r.name = outputOf, b.Stream.String()
	case Gap:
		r.kind, r.name = outputOf, b.Stream.String()
	case Progress:
		r.kind, r.name = progressOf, b.What
	case Notice:
		r.kind, r.name = noticeOf, b.Text
	case Variable:
		r.kind, r.name = variableOf, b.Namespace+" "+b.Path
	case Forgotten:
		if r.part = aftermath; b.Job != "" {
			r.job = b.Job
		}
	}
	return r
}
