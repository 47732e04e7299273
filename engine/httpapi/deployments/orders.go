package deployments

import (
	"errors"
	"net/http"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/event"
	"taskrun/engine/update"
)

// deploymentChanged is the response in its wire format.
type deploymentChanged struct {
	EvalID                                        string
	EvalCreateIndex, DeploymentModifyIndex, Index uint64
	RevertedJobVersion                            *uint64
}

// kind names deployments in messages.
const kind = "Deployment"

// Promote answers PUT /v1/deployment/promote/:id.
func (h *Handler) Promote(r *rest.Request, order *api.DeploymentPromoteRequest) (any, error) {
	if err := r.Names(kind, order.DeploymentID); err != nil {
		return nil, err
	}
	if !order.All && len(order.Groups) == 0 {
		return nil, rest.Fail(http.StatusBadRequest, "promote either all groups or a list of groups")
	}
	if order.All {
		order.Groups = nil
	}
	return h.order(r, func() error { return h.run.Engine.Deployment(r.ID).Promote(order.Groups) })
}

// Pause answers PUT /v1/deployment/pause/:id.
func (h *Handler) Pause(r *rest.Request, order *api.DeploymentPauseRequest) (any, error) {
	if err := r.Names(kind, order.DeploymentID); err != nil {
		return nil, err
	}
	return h.order(r, func() error { return h.run.Engine.Deployment(r.ID).Pause(order.Pause) })
}

// Fail answers PUT /v1/deployment/fail/:id. The request may have no
// body.
func (h *Handler) Fail(r *rest.Request) (any, error) {
	return h.order(r, func() error { return h.run.Engine.Deployment(r.ID).Fail() })
}

// SetHealth answers PUT /v1/deployment/allocation-health/:id.
func (h *Handler) SetHealth(r *rest.Request, order *api.DeploymentAllocHealthRequest) (any, error) {
	if err := r.Names(kind, order.DeploymentID); err != nil {
		return nil, err
	}
	if len(order.HealthyAllocationIDs)+len(order.UnhealthyAllocationIDs) == 0 {
		return nil, errors.New("must specify at least one healthy/unhealthy allocation ID")
	}
	return h.order(r, func() error {
		return h.run.Engine.Deployment(r.ID).SetHealth(order.HealthyAllocationIDs, order.UnhealthyAllocationIDs)
	})
}

// order carries out an order for the deployment in the path.
func (h *Handler) order(r *rest.Request, do func() error) (any, error) {
	if err := rest.CheckID("deployment lookup failed: ", r.ID); err != nil {
		return nil, err
	}
	before, err := h.find(r)
	if err != nil {
		return nil, err
	}
	if err := do(); err != nil {
		return nil, err
	}
	answer, job := &deploymentChanged{}, h.run.KeyIn(before.Namespace, before.JobID)
	if after := h.run.Engine.Handle(job).Deployments(); len(after) > 0 && after[len(after)-1].Version > before.JobVersion {
		answer.RevertedJobVersion = h.revertedTo(job, after[len(after)-1].Version)
	}
	answer.EvalID, answer.EvalCreateIndex = h.run.Tracker.Evaluated(job, "", event.DeploymentWatcher)
	answer.Index, answer.DeploymentModifyIndex = answer.EvalCreateIndex, answer.EvalCreateIndex
	r.SetIndex(answer.Index)
	return answer, nil
}

// revertedTo returns the earlier version with the same content as a new one.
func (h *Handler) revertedTo(job string, number uint64) *uint64 {
	versions, err := h.run.Engine.Handle(job).Versions()
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
