package httpapi

import (
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/event"
)

// deploymentRecord is what events tell of a job's deployment.
type deploymentRecord struct {
	body              event.Deployment
	began, changed    time.Time
	created, modified uint64 // indexes
}

// observeDeployment takes in a change of a deployment. The lock is held.
func (t *tracker) observeDeployment(body event.Deployment, at time.Time) {
	d := t.deployments[body.Job]
	if d == nil {
		d = &deploymentRecord{began: at, created: t.now}
		t.deployments[body.Job] = d
	}
	d.body, d.changed, d.modified = body, at, t.now
}

// deployment returns the deployment of a job, if it has one.
func (t *tracker) deployment(job string) (deploymentRecord, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := t.deployments[job]; d != nil {
		return *d, true
	}
	return deploymentRecord{}, false
}

// jobDeployment answers GET /v1/job/:id/deployment; a job without one answers
// null, on which clients rely.
func (s *Server) jobDeployment(_ http.ResponseWriter, r *request) (any, error) {
	return s.findDeployment(r), nil
}

// jobDeployments answers GET /v1/job/:id/deployments.
func (s *Server) jobDeployments(_ http.ResponseWriter, r *request) (any, error) {
	list := []*api.Deployment{}
	if d := s.findDeployment(r); d != nil {
		list = append(list, d)
	}
	return list, nil
}

// listDeployments answers GET /v1/deployments.
func (s *Server) listDeployments(_ http.ResponseWriter, r *request) (any, error) {
	run, list := s.look(), []*api.Deployment{}
	for _, j := range run.jobs {
		d := s.deployment(run, *j.ID)
		if d != nil && r.inNamespace(d.Namespace) && strings.HasPrefix(plainID(d.ID), plainID(r.query.Get("prefix"))) {
			list = append(list, d)
		}
	}
	return page(r, list, func(d *api.Deployment) string { return d.ID })
}

// getDeployment answers GET /v1/deployment/:id.
func (s *Server) getDeployment(_ http.ResponseWriter, r *request) (any, error) {
	run := s.look()
	for _, j := range run.jobs {
		if d := s.deployment(run, *j.ID); d != nil && d.ID == r.id && r.inNamespace(d.Namespace) {
			return d, nil
		}
	}
	return nil, fail(http.StatusNotFound, "deployment not found")
}

// deploymentAllocations answers GET /v1/deployment/allocations/:id.
func (s *Server) deploymentAllocations(_ http.ResponseWriter, r *request) (any, error) {
	stubs := []*api.AllocationListStub{}
	for _, a := range s.engine.Allocs() {
		if d, ok := s.tracker.deployment(a.Alloc.Job); ok && d.body.ID == r.id && r.inNamespace(*a.Job.Namespace) {
			stubs = append(stubs, s.allocStub(a))
		}
	}
	return stubs, nil
}

func (s *Server) findDeployment(r *request) *api.Deployment {
	if d := s.deployment(s.look(), r.id); d != nil && r.inNamespace(d.Namespace) {
		return d
	}
	return nil
}

// deployment describes the deployment of a job in Nomad's words; nil if there
// is none.
func (s *Server) deployment(run *run, job string) *api.Deployment {
	j := run.job(job)
	d, ok := s.tracker.deployment(job)
	if j == nil || !ok {
		return nil
	}
	deployment := &api.Deployment{
		ID: d.body.ID, Namespace: *j.Namespace, JobID: job, JobVersion: *j.Version,
		JobModifyIndex: *j.JobModifyIndex, JobSpecModifyIndex: *j.JobModifyIndex, JobCreateIndex: *j.CreateIndex,
		TaskGroups: map[string]*api.DeploymentState{}, Status: d.body.Status, StatusDescription: d.body.Description,
		CreateIndex: d.created, ModifyIndex: d.modified, CreateTime: d.began.UnixNano(), ModifyTime: d.changed.UnixNano(),
	}
	for _, g := range j.TaskGroups {
		if g.Update != nil && !g.Update.Empty() {
			deployment.TaskGroups[*g.Name] = deploymentState(run, j, g)
		}
	}
	return deployment
}

func deploymentState(run *run, j *api.Job, g *api.TaskGroup) *api.DeploymentState {
	state := &api.DeploymentState{DesiredTotal: *g.Count}
	if g.Update.AutoRevert != nil {
		state.AutoRevert = *g.Update.AutoRevert
	}
	if g.Update.ProgressDeadline != nil {
		state.ProgressDeadline = *g.Update.ProgressDeadline
	}
	for _, a := range run.allocs[*j.ID] {
		if a.Group != *g.Name {
			continue
		}
		state.PlacedAllocs++
		switch {
		case a.Healthy == nil:
		case *a.Healthy:
			state.HealthyAllocs++
		default:
			state.UnhealthyAllocs++
		}
	}
	return state
}
