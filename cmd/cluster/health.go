package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
)

// Inspect publishes changes of the services and checks of allocations, and reports
// whether they have any. Follow does not query them, because no blocking query
// waits for the results of checks, and only a screen shows them. Inspect must not
// be called concurrently. It ignores errors of requests.
func (r *Run) Inspect(ctx context.Context, s *client.Server, allocs []*event.Alloc) (some bool) {
	jobs := map[string][]*api.ServiceRegistration{}
	for _, a := range allocs {
		t := s.Task(a, "")
		list, asked := jobs[a.Job]
		if !asked {
			var err error
			if list, err = t.Services(ctx); err != nil {
				continue
			}
			jobs[a.Job] = list
		}
		now := map[string]event.Service{}
		for _, s := range list {
			if s.AllocID == a.ID {
				now[s.ID] = event.Service{ID: s.ID, Name: s.ServiceName, Address: s.Address, Port: s.Port, Tags: s.Tags, Registered: true}
			}
		}
		before := r.reported[a.ID]
		if len(now)+len(before.services) == 0 {
			continue
		}
		some = true
		r.offered(a, before.services, now)
		r.reported[a.ID] = reported{now, r.checked(ctx, t, a, before.checks)}
	}
	return some
}

// checked publishes the new results of an allocation's checks, and returns all results.
func (r *Run) checked(ctx context.Context, t *client.Task, a *event.Alloc, before map[string]event.Check) map[string]event.Check {
	found, err := t.Checks(ctx)
	if err != nil {
		return before
	}
	byName := func(a, b api.AllocCheckStatus) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Check, b.Check), cmp.Compare(a.ID, b.ID))
	}
	now := map[string]event.Check{}
	for _, c := range slices.SortedFunc(maps.Values(found), byName) {
		result := event.Check{Service: c.Service, Check: c.Check, Status: c.Status, Output: c.Output}
		if now[c.ID] = result; before[c.ID] != result {
			r.send(event.Event{Time: unix(0), Alloc: a, Body: result})
		}
	}
	return now
}

// offered publishes how the services of an allocation have changed.
func (r *Run) offered(a *event.Alloc, before, now map[string]event.Service) {
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if _, still := now[id]; !still {
			s := before[id]
			s.Registered = false
			r.send(event.Event{Time: unix(0), Alloc: a, Body: s})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(now)) {
		old, s := before[id], now[id]
		if !old.Registered || old.Address != s.Address || old.Port != s.Port || !slices.Equal(old.Tags, s.Tags) {
			r.send(event.Event{Time: unix(0), Alloc: a, Body: s})
		}
	}
}
