package httpapi

import (
	"net/http"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
)

// idLength is that of a whole ID.
const idLength = 36

// getAllocation answers GET /v1/allocation/:id.
func (s *Server) getAllocation(_ http.ResponseWriter, r *request) (any, error) {
	if len(r.id) != idLength {
		return nil, fail(http.StatusInternalServerError, "alloc lookup failed: index error: UUID must be 36 characters")
	}
	a, ok := s.engine.Alloc(r.id)
	if !ok || !r.inNamespace(*a.Job.Namespace) {
		return nil, fail(http.StatusNotFound, "alloc not found")
	}
	alloc := s.allocation(a)
	alloc.Job = s.look().job(a.Alloc.Job)
	return alloc, nil
}

// allocation is an allocation with what Nomad's client has no fields for.
type allocation struct {
	*api.Allocation
	SharedResources *api.Resources
	SigningKeyID    string // of its workload identities
}

// allocation describes an allocation in Nomad's words, without its job.
func (s *Server) allocation(a engine.Alloc) *allocation {
	known := s.tracker.alloc(a.ID)
	group := a.Job.LookupTaskGroup(a.Group)
	alloc := &api.Allocation{
		ID: a.ID, Name: a.Name, Namespace: *a.Job.Namespace, NodeID: s.cfg.Node.ID, NodeName: s.cfg.Node.Name,
		JobID: a.Alloc.Job, TaskGroup: a.Group, Metrics: &api.AllocationMetric{},
		DesiredStatus: api.AllocDesiredStatusRun, ClientStatus: a.Status, ClientDescription: a.Description,
		TaskStates: a.Tasks, PreviousAllocation: a.Replaces, NextAllocation: known.next, EvalID: known.evaluation,
		CreateIndex: known.created, ModifyIndex: known.modified, AllocModifyIndex: known.created,
		CreateTime: a.Created.UnixNano(), ModifyTime: a.Modified.UnixNano(),
		NetworkStatus: &api.AllocNetworkStatus{},
	}
	if a.Modified.IsZero() {
		alloc.ModifyTime = alloc.CreateTime
	}
	switch {
	case a.Unwanted != "":
		alloc.DesiredStatus, alloc.DesiredDescription = api.AllocDesiredStatusStop, a.Unwanted
	case known.next != "" && *a.Job.Type != api.JobTypeSystem:
		alloc.DesiredStatus, alloc.DesiredDescription = api.AllocDesiredStatusStop, "alloc was rescheduled because it failed"
	}
	alloc.DeploymentID = a.Deployment
	if a.Deployment != "" && (a.Healthy != nil || a.Canary) {
		alloc.DeploymentStatus = &api.AllocDeploymentStatus{
			Healthy: a.Healthy, Canary: a.Canary, Timestamp: a.Modified, ModifyIndex: known.modified,
		}
	}
	addResources(alloc, group, a)
	shared := &api.Resources{
		CPU: new(0), Cores: new(0), MemoryMB: new(0), MemoryMaxMB: new(0), IOPS: new(0),
		DiskMB: alloc.Resources.DiskMB, Networks: alloc.Resources.Networks,
	}
	return &allocation{Allocation: alloc, SharedResources: shared, SigningKeyID: s.cfg.Keys.ID()}
}

// allocStub is an allocation as lists show it.
func (s *Server) allocStub(a engine.Alloc) *api.AllocationListStub {
	alloc := s.allocation(a)
	stub := alloc.Stub()
	stub.AllocatedResources = nil // only if asked for
	stub.JobType, stub.JobVersion = *a.Job.Type, *a.Job.Version
	return stub
}

// allocStubs are those allocations that a request may see, with as much of them
// as it wants to see.
func (s *Server) allocStubs(r *request, allocs []engine.Alloc) ([]*api.AllocationListStub, error) {
	resources, err := r.flag("resources")
	if err != nil {
		return nil, err
	}
	states := true
	if r.query.Get("task_states") != "" {
		if states, err = r.flag("task_states"); err != nil {
			return nil, err
		}
	}
	stubs := []*api.AllocationListStub{}
	for _, a := range allocs {
		if !r.inNamespace(*a.Job.Namespace) {
			continue
		}
		stub := s.allocStub(a)
		if resources {
			stub.AllocatedResources = s.allocation(a).AllocatedResources
		}
		if !states {
			stub.TaskStates = nil
		}
		stubs = append(stubs, stub)
	}
	return stubs, nil
}

// allocationChecks answers GET /v1/client/allocation/:id/checks.
func (s *Server) allocationChecks(_ http.ResponseWriter, r *request) (any, error) {
	if _, ok := s.engine.Alloc(r.id); !ok {
		return nil, unknownAlloc(r.id)
	}
	return s.engine.Services().Checks(r.id), nil
}

// done is the answer to an order that was carried out.
type done struct{ Index uint64 }

// restartAllocation answers PUT /v1/client/allocation/:id/restart: one task,
// those that run, or with AllTasks also those that have ended.
func (s *Server) restartAllocation(w http.ResponseWriter, r *request) (any, error) {
	var order api.AllocationRestartRequest
	if err := r.decode(w, &order); err != nil {
		return nil, err
	}
	if _, ok := s.engine.Alloc(r.id); !ok {
		return nil, unknownAlloc(r.id)
	}
	var err error
	switch {
	case order.TaskName != "" && order.AllTasks:
		err = fail(http.StatusBadRequest, "cannot restart all tasks and task %q at once", order.TaskName)
	case order.TaskName != "":
		err = s.engine.RestartTask(r.Context(), r.id, order.TaskName)
	default:
		err = s.engine.RestartAlloc(r.Context(), r.id, order.AllTasks)
	}
	return done{}, err
}
