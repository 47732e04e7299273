package engine

import (
	"context"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// Stats returns what the running tasks of an allocation use now, each and
// together; with a task's name only what that one uses. Tasks whose driver
// cannot tell are left out.
func (e *Engine) Stats(ctx context.Context, allocID, task string) (*api.AllocResourceUsage, error) {
	a, err := e.alloc(allocID)
	if err != nil {
		return nil, err
	}
	used := &api.AllocResourceUsage{Tasks: map[string]*api.TaskResourceUsage{}}
	var all []*api.ResourceUsage
	for name, u := range a.Stats(ctx, task) {
		used.Tasks[name] = &u.TaskResourceUsage
		used.Timestamp = max(used.Timestamp, u.Timestamp)
		all = append(all, u.ResourceUsage)
	}
	used.ResourceUsage = drivers.SumUsage(all...)
	return used, nil
}
