package httpapi

import (
	"net/http"
	"strconv"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/update"
)

// deploymentChanged is an answer as it is on the wire.
type deploymentChanged struct {
	EvalID                                        string
	EvalCreateIndex, DeploymentModifyIndex, Index uint64
	RevertedJobVersion                            *uint64
}

// promoteDeployment answers PUT /v1/deployment/promote/:id.
func (s *Server) promoteDeployment(w http.ResponseWriter, r *request) (any, error) {
	var order api.DeploymentPromoteRequest
	if err := r.decode(w, &order); err != nil {
		return nil, err
	}
	if !order.All && len(order.Groups) == 0 {
		return nil, fail(http.StatusBadRequest, "either all groups or some have to be promoted")
	}
	if order.All {
		order.Groups = nil
	}
	return s.orderDeployment(w, r, order.DeploymentID, func() error { return s.engine.Promote(r.id, order.Groups) })
}

// pauseDeployment answers PUT /v1/deployment/pause/:id.
func (s *Server) pauseDeployment(w http.ResponseWriter, r *request) (any, error) {
	var order api.DeploymentPauseRequest
	if err := r.decode(w, &order); err != nil {
		return nil, err
	}
	return s.orderDeployment(w, r, order.DeploymentID, func() error { return s.engine.Pause(r.id, order.Pause) })
}

// failDeployment answers PUT /v1/deployment/fail/:id. The request may have no
// body.
func (s *Server) failDeployment(w http.ResponseWriter, r *request) (any, error) {
	return s.orderDeployment(w, r, "", func() error { return s.engine.Fail(r.id) })
}

// setHealth answers PUT /v1/deployment/allocation-health/:id.
func (s *Server) setHealth(w http.ResponseWriter, r *request) (any, error) {
	var order api.DeploymentAllocHealthRequest
	if err := r.decode(w, &order); err != nil {
		return nil, err
	}
	if len(order.HealthyAllocationIDs)+len(order.UnhealthyAllocationIDs) == 0 {
		return nil, fail(http.StatusBadRequest, "must specify at least one healthy/unhealthy allocation ID")
	}
	return s.orderDeployment(w, r, order.DeploymentID, func() error {
		return s.engine.SetHealth(r.id, order.HealthyAllocationIDs, order.UnhealthyAllocationIDs)
	})
}

// orderDeployment has something done with the deployment of the path.
func (s *Server) orderDeployment(w http.ResponseWriter, r *request, named string, do func() error) (any, error) {
	if named != "" && named != r.id {
		return nil, fail(http.StatusBadRequest, "Deployment ID does not match")
	}
	before, ok := s.findByID(r)
	if !ok {
		return nil, fail(http.StatusNotFound, "deployment not found")
	}
	if err := do(); err != nil {
		return nil, err
	}
	answer := &deploymentChanged{}
	if after := s.engine.Deployments(before.Job); len(after) > 0 && after[len(after)-1].Version > before.Version {
		answer.RevertedJobVersion = s.revertedTo(before.Job, after[len(after)-1].Version)
	}
	t := s.tracker
	answer.EvalID = t.evaluate(triggerDeployment, before.Job, before.ID+" "+strconv.FormatUint(t.index(deploymentTopic(before.Job)), 10))
	answer.EvalCreateIndex = t.index(evaluationTopic(answer.EvalID))
	answer.Index, answer.DeploymentModifyIndex = answer.EvalCreateIndex, answer.EvalCreateIndex
	s.setIndex(w, answer.Index)
	return answer, nil
}

// revertedTo is the earlier version that a new one is the same as.
func (s *Server) revertedTo(job string, number uint64) *uint64 {
	versions, err := s.engine.Versions(job)
	if err != nil || len(versions) == 0 || *versions[0].Version != number {
		return nil
	}
	for _, j := range versions[1:] {
		if j.Stable != nil && *j.Stable && update.Same(j, versions[0]) {
			return j.Version
		}
	}
	return nil
}
