package httpapi

import (
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/leaf/event"
)

// deploymentRecord is what events tell of a deployment and the engine does not.
type deploymentRecord struct {
	changed           time.Time
	created, modified uint64 // indexes
}

// observeDeployment takes in a change of a deployment, and the version of its
// job if that is new. The lock is held.
func (t *tracker) observeDeployment(body event.Deployment, at time.Time) {
	d := t.deployments[body.ID]
	if d == nil {
		d = &deploymentRecord{created: t.now}
		t.deployments[body.ID] = d
		if name := version(body.Job, body.Version); !t.versions[name] {
			t.versions[name] = true
			t.evaluateLocked(triggerRegister, body.Job, name)
		}
	}
	d.changed, d.modified = at, t.now
	t.deployed[body.Job] = body.ID
	t.change(jobTopic(body.Job), jobsTopic(""))
}

// deployment returns what is known of a deployment.
func (t *tracker) deployment(id string) deploymentRecord {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := t.deployments[id]; d != nil {
		return *d
	}
	return deploymentRecord{created: firstIndex, modified: firstIndex}
}

// jobDeployment answers GET /v1/job/:id/deployment with the latest one; a job
// without one answers null, on which clients rely.
func (s *Server) jobDeployment(_ http.ResponseWriter, r *request) (any, error) {
	list := s.deploymentsOf(s.look(), r, r.id)
	if len(list) == 0 {
		return (*api.Deployment)(nil), nil
	}
	return list[len(list)-1], nil
}

// jobDeployments answers GET /v1/job/:id/deployments, the newest first.
func (s *Server) jobDeployments(_ http.ResponseWriter, r *request) (any, error) {
	list := []*api.Deployment{}
	for _, d := range s.deploymentsOf(s.look(), r, r.id) {
		list = append([]*api.Deployment{d}, list...)
	}
	return list, nil
}

// listDeployments answers GET /v1/deployments.
func (s *Server) listDeployments(_ http.ResponseWriter, r *request) (any, error) {
	run, list := s.look(), []*api.Deployment{}
	for _, j := range run.jobs {
		for _, d := range s.deploymentsOf(run, r, *j.ID) {
			if strings.HasPrefix(plainID(d.ID), plainID(r.query.Get("prefix"))) {
				list = append(list, d)
			}
		}
	}
	return page(r, list, func(d *api.Deployment) string { return d.ID })
}

// getDeployment answers GET /v1/deployment/:id.
func (s *Server) getDeployment(_ http.ResponseWriter, r *request) (any, error) {
	run := s.look()
	for _, j := range run.jobs {
		for _, d := range s.deploymentsOf(run, r, *j.ID) {
			if d.ID == r.id {
				return d, nil
			}
		}
	}
	return nil, fail(http.StatusNotFound, "deployment not found")
}

// findByID returns the deployment that a request is about.
func (s *Server) findByID(r *request) (engine.Deployment, bool) {
	for _, j := range s.look().jobs {
		for _, d := range s.engine.Deployments(*j.ID) {
			if d.ID == r.id && r.inNamespace(*j.Namespace) {
				return d, true
			}
		}
	}
	return engine.Deployment{}, false
}

// deploymentAllocations answers GET /v1/deployment/allocations/:id.
func (s *Server) deploymentAllocations(_ http.ResponseWriter, r *request) (any, error) {
	stubs := []*api.AllocationListStub{}
	for _, a := range s.engine.Allocs() {
		if a.Deployment == r.id && r.inNamespace(*a.Job.Namespace) {
			stubs = append(stubs, s.allocStub(a))
		}
	}
	return stubs, nil
}

// deploymentOf returns the ID of the deployment that an evaluation belongs to;
// empty for none.
func (s *Server) deploymentOf(e evaluationRecord) string {
	if e.trigger != triggerRegister && e.trigger != triggerDeployment {
		return ""
	}
	versions, err := s.engine.Versions(e.job)
	list := s.engine.Deployments(e.job)
	if err != nil || len(list) == 0 {
		return ""
	}
	for _, j := range versions {
		if s.tracker.registration(e.job, *j.Version) != e.id {
			continue
		}
		for _, d := range list {
			if d.Version == *j.Version {
				return d.ID
			}
		}
		return ""
	}
	return list[len(list)-1].ID // of no version's beginning
}

// registration is the ID of the evaluation with which a version of a job came.
func (t *tracker) registration(job string, number uint64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.evaluationID(triggerRegister, version(job, number))
}

// deploymentsOf are the deployments of a job that a request may see.
func (s *Server) deploymentsOf(run *run, r *request, job string) []*api.Deployment {
	if j := run.job(job); j == nil || !r.inNamespace(*j.Namespace) {
		return nil
	}
	return s.deployments(run, job)
}

// deployments describes the deployments of a job in Nomad's words, oldest
// first.
func (s *Server) deployments(run *run, job string) (list []*api.Deployment) {
	j := run.job(job)
	if j == nil {
		return nil
	}
	for _, d := range s.engine.Deployments(job) {
		known := s.tracker.deployment(d.ID)
		index := s.tracker.adoptedAt(version(job, d.Version))
		changed := known.changed
		if changed.IsZero() {
			changed = d.Began
		}
		described := &api.Deployment{
			ID: d.ID, Namespace: *j.Namespace, JobID: job, JobVersion: d.Version,
			JobModifyIndex: index, JobSpecModifyIndex: index, JobCreateIndex: *j.CreateIndex,
			TaskGroups: map[string]*api.DeploymentState{}, Status: d.Status, StatusDescription: d.Description,
			CreateIndex: known.created, ModifyIndex: known.modified, CreateTime: d.Began.UnixNano(), ModifyTime: changed.UnixNano(),
		}
		for name, g := range d.Groups {
			described.TaskGroups[name] = &api.DeploymentState{
				AutoRevert: g.AutoRevert, Promoted: g.Promoted, ProgressDeadline: g.Progress, RequireProgressBy: g.Deadline,
				DesiredCanaries: g.Canaries, DesiredTotal: g.Desired, PlacedCanaries: g.PlacedCanaries, PlacedAllocs: g.Placed,
				HealthyAllocs: len(g.Healthy), UnhealthyAllocs: len(g.Unhealthy),
			}
		}
		list = append(list, described)
	}
	return list
}
