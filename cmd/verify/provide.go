package verify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/jobspec/stub"
)

// Provide creates what a job needs on an agent that was started for it: its
// namespace, and the Nomad variables of the stubs with theirs.
func Provide(ctx context.Context, s *client.Server, job *api.Job, stubs *stub.Set) error {
	w := (&api.WriteOptions{}).WithContext(ctx)
	namespaces := map[string]bool{*job.Namespace: true}
	for _, v := range stubs.Variables() {
		namespaces[v.Namespace] = true
	}
	for name := range namespaces {
		if name == "" || name == api.DefaultNamespace {
			continue
		}
		if _, err := s.API.Namespaces().Register(&api.Namespace{Name: name}, w); err != nil {
			return fmt.Errorf("cannot create namespace %q on the agent: %w", name, err)
		}
	}
	for _, v := range stubs.Variables() {
		at := *w
		at.Namespace = v.Namespace
		if _, _, err := s.API.Variables().Create(v, &at); err != nil {
			return fmt.Errorf("cannot create variable %q on the agent: %w", v.Path, err)
		}
	}
	return nil
}

// stopTime limits how long a purged job may take to stop, in addition to the time
// that its tasks may take.
const stopTime = 30 * time.Second

// Purge stops a job, waits until nothing of it runs or ctx ends, and removes it.
func Purge(ctx context.Context, s *client.Server, job *api.Job) error {
	grace := stopTime
	for _, g := range job.TaskGroups {
		for _, t := range g.Tasks {
			if t.KillTimeout != nil {
				grace = max(grace, stopTime+*t.KillTimeout+t.ShutdownDelay)
			}
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, grace, fmt.Errorf("job %q has not stopped within %v", *job.ID, grace))
	defer cancel()
	if err := s.Deregister(ctx, *job.ID, api.DeregisterOptions{Purge: true}); err != nil && !client.Missing(err) {
		return err
	}
	for index := uint64(0); ; {
		allocs, next, err := s.Allocations(ctx, *job.ID, index)
		if client.Missing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(allocs, func(a *api.AllocationListStub) bool { return !client.Ended(a) }) {
			return nil
		}
		index = next
	}
}
