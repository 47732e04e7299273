package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
)

// listJobs answers GET /v1/jobs, by ID.
func (s *Server) listJobs(_ http.ResponseWriter, r *request) (any, error) {
	withMeta, err := r.flag("meta")
	if err != nil {
		return nil, err
	}
	prefix := r.query.Get("prefix")
	run := s.look()
	var jobs []*api.Job
	for _, j := range run.jobs {
		if strings.HasPrefix(*j.ID, prefix) && r.inNamespace(*j.Namespace) {
			jobs = append(jobs, j)
		}
	}
	// Filters are for whole jobs, as in Nomad.
	if jobs, err = page(r, jobs, func(j *api.Job) string { return *j.ID }); err != nil {
		return nil, err
	}
	stubs := []*api.JobListStub{}
	for _, j := range jobs {
		stubs = append(stubs, s.jobStub(run, j, withMeta))
	}
	return stubs, nil
}

func (s *Server) jobStub(run *run, j *api.Job, withMeta bool) *api.JobListStub {
	stub := &api.JobListStub{
		ID: *j.ID, ParentID: *j.ParentID, Name: *j.Name, Namespace: *j.Namespace, Datacenters: j.Datacenters,
		Type: *j.Type, Priority: *j.Priority, Periodic: j.IsPeriodic(), ParameterizedJob: j.IsParameterized(),
		Stop: *j.Stop, Status: *j.Status, StatusDescription: *j.StatusDescription, JobSummary: s.summary(run, j),
		CreateIndex: *j.CreateIndex, ModifyIndex: *j.ModifyIndex, JobModifyIndex: *j.JobModifyIndex, SubmitTime: *j.SubmitTime,
	}
	if withMeta {
		stub.Meta = j.Meta
	}
	return stub
}

// run is what the engine runs, at one moment.
type run struct {
	over   bool
	jobs   []*api.Job // copies with their state, by ID
	allocs map[string][]engine.Alloc
}

// look takes a look at the engine. Of jobs that run in the name of another it
// knows those that have allocations.
func (s *Server) look() *run {
	run := &run{allocs: map[string][]engine.Alloc{}}
	select {
	case <-s.engine.Done():
		run.over = true
	default:
	}
	jobs, seen := s.engine.Jobs(), map[string]bool{}
	for _, j := range jobs {
		seen[*j.ID] = true
	}
	for _, a := range s.engine.Allocs() {
		if !seen[a.Alloc.Job] {
			seen[a.Alloc.Job] = true
			jobs = append(jobs, a.Job)
		}
		run.allocs[a.Alloc.Job] = append(run.allocs[a.Alloc.Job], a)
	}
	slices.SortFunc(jobs, func(a, b *api.Job) int { return strings.Compare(*a.ID, *b.ID) })
	for _, j := range jobs {
		run.jobs = append(run.jobs, s.withState(run, j))
	}
	return run
}

// job returns a job by its ID; nil if there is none.
func (run *run) job(id string) *api.Job {
	i, ok := slices.BinarySearchFunc(run.jobs, id, func(j *api.Job, id string) int { return strings.Compare(*j.ID, id) })
	if !ok {
		return nil
	}
	return run.jobs[i]
}
