package client

import (
	"context"
	"fmt"

	"github.com/hashicorp/nomad/api"
)

// Services returns the services that the allocations of the task's job have registered
// with Nomad.
func (t *Task) Services(ctx context.Context) ([]*api.ServiceRegistration, error) {
	s := t.Server.in(t.Alloc.Namespace)
	list, _, err := askOf(ctx, s, "list the services of job "+s.quoted(t.Alloc.JobID), 0, t.Alloc.JobID, s.API.Jobs().Services)
	return list, err
}

// Checks returns the latest results of the checks of the task's allocation, except
// those that Consul carries out.
func (t *Task) Checks(ctx context.Context) (api.AllocCheckStatuses, error) {
	s := t.Server.in(t.Alloc.Namespace)
	found, _, err := ask(ctx, s, fmt.Sprintf("get the checks of allocation %q", t.Alloc.Name), 0, func(q *api.QueryOptions) (api.AllocCheckStatuses, *api.QueryMeta, error) {
		found, err := s.API.Allocations().Checks(t.Alloc.ID, q)
		return found, &api.QueryMeta{}, err
	})
	return found, err
}
