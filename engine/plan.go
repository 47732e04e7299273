package engine

import (
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/runner"
	"taskrun/engine/update"
)

// Plan tells what another version of a job, canonicalised, would mean for what
// runs. A job that does not run would be placed as a whole. Nothing is done.
func (e *Engine) Plan(job *api.Job) *update.Plan {
	r, err := e.find(*job.ID)
	if err != nil {
		return update.New(nil, job, nil)
	}
	return update.New(r.newest.Load(), job, e.present(*job.ID))
}

// present are the newest allocations of a job, one of each index.
func (e *Engine) present(job string) []update.Alloc {
	e.mu.Lock()
	defer e.mu.Unlock()
	newest := map[string]*runner.Alloc{}
	for _, a := range e.allocs {
		alloc := a.Config().Alloc
		if other := newest[alloc.Name]; alloc.Job == job && (other == nil || other.State().Created.Before(a.State().Created)) {
			newest[alloc.Name] = a
		}
	}
	var list []update.Alloc
	for _, a := range newest {
		cfg := a.Config()
		ended := []string{api.AllocClientStatusComplete, api.AllocClientStatusFailed}
		list = append(list, update.Alloc{Group: cfg.Alloc.Group, Index: cfg.Index, Done: slices.Contains(ended, a.State().Status)})
	}
	return list
}
