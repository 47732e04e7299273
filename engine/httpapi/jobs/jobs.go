package jobs

import (
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
)

// List answers GET /v1/jobs, by ID and namespace.
func (h *Handler) List(r *rest.Request) (any, error) {
	prefix := r.Query.Get("prefix")
	return h.list(r, func(j *api.Job) bool { return strings.HasPrefix(*j.ID, prefix) })
}

// list returns the jobs of a request that keep accepts.
func (h *Handler) list(r *rest.Request, keep func(*api.Job) bool) (any, error) {
	withMeta, err := r.Flag("meta")
	if err != nil {
		return nil, err
	}
	now := h.run.Look()
	var jobs []*api.Job
	for _, j := range now.Jobs {
		if r.InNamespace(*j.Namespace) && keep(j) {
			jobs = append(jobs, j)
		}
	}
	// Filters are for whole jobs, as in Nomad.
	if jobs, err = rest.Page(r, jobs, func(j *api.Job) string { return *j.Namespace + "." + *j.ID }); err != nil {
		return nil, err
	}
	stubs := []*stub{}
	for _, j := range jobs {
		stubs = append(stubs, stubOf(now, j, withMeta))
	}
	return stubs, nil
}

// stub is a job in a list, with fields that the API's type lacks.
type stub struct {
	*api.JobListStub

	NodePool    string
	Multiregion *api.Multiregion
}

func stubOf(now *render.Snapshot, j *api.Job, withMeta bool) *stub {
	list := &api.JobListStub{
		ID: *j.ID, ParentID: *j.ParentID, Name: *j.Name, Namespace: *j.Namespace, Datacenters: j.Datacenters,
		Type: *j.Type, Priority: *j.Priority, Periodic: j.IsPeriodic(), ParameterizedJob: j.IsParameterized(),
		Stop: *j.Stop, Status: *j.Status, StatusDescription: *j.StatusDescription, JobSummary: now.Summary(j),
		CreateIndex: *j.CreateIndex, ModifyIndex: *j.ModifyIndex, JobModifyIndex: *j.JobModifyIndex, SubmitTime: *j.SubmitTime,
	}
	if withMeta {
		list.Meta = j.Meta
	}
	return &stub{JobListStub: list, NodePool: *j.NodePool, Multiregion: j.Multiregion}
}

// OfPool answers GET /v1/node/pool/:name/jobs.
func (h *Handler) OfPool(r *rest.Request) (any, error) {
	if r.Query.Get("prefix") != "" {
		return nil, rest.Fail(http.StatusBadRequest, "prefix argument not allowed")
	}
	return h.list(r, func(j *api.Job) bool { return j.NodePool != nil && *j.NodePool == r.ID })
}
