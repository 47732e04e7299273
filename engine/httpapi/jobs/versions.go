package jobs

import (
	"net/http"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/update"
)

// Versions answers GET /v1/job/:id/versions with the kept versions, newest
// first, and with their differences if the request asks for them.
func (h *Handler) Versions(r *rest.Request) (any, error) {
	_, newest, err := h.run.FindJob(r)
	if err != nil {
		return nil, rest.Fail(http.StatusNotFound, "job versions not found")
	}
	if r.Query.Has("diff_version") || r.Query.Has("diff_tag") {
		return nil, rest.Fail(http.StatusNotImplemented, "taskrun compares a version with the one before it alone: leave out diff_version and diff_tag")
	}
	withDiffs, err := r.Flag("diffs")
	if err != nil {
		return nil, err
	}
	key := h.run.Key(r)
	kept, err := h.run.Engine.Handle(key).Versions()
	if err != nil {
		return nil, rest.Fail(http.StatusNotFound, "job versions not found")
	}
	answer := struct {
		Versions []*api.Job
		Diffs    []*api.JobDiff
		queryMeta
	}{queryMeta: queryMeta{Index: *newest.ModifyIndex, KnownLeader: true}}
	for i, j := range kept {
		shown := *newest
		if i > 0 {
			shown = *j
			index, _ := h.run.Tracker.Version(key, *j.Version)
			shown.CreateIndex, shown.JobModifyIndex, shown.ModifyIndex = newest.CreateIndex, &index, &index
			shown.Status, shown.Stop = newest.Status, new(j.Stop != nil && *j.Stop)
			h.run.AddPolicies(&shown)
			if withDiffs {
				answer.Diffs = append(answer.Diffs, update.Diff(j, kept[i-1]))
			}
		}
		answer.Versions = append(answer.Versions, &shown)
	}
	return answer, nil
}

// queryMeta is the part of a response's headers that Nomad's server repeats in
// some bodies.
type queryMeta struct {
	Index       uint64
	LastContact int
	KnownLeader bool
	NextToken   string
}

// Validate answers PUT /v1/validate/job with the errors of a job; the request
// itself succeeds.
func (h *Handler) Validate(r *rest.Request, order *api.JobValidateRequest) (any, error) {
	if order.Job == nil {
		return nil, rest.Fail(http.StatusBadRequest, "Job must be specified")
	}
	answer := &api.JobValidateResponse{DriverConfigValidated: true}
	var warnings []string
	warnings, answer.ValidationErrors = h.checkJob(OrderValidate, order.Job)
	answer.Warnings, answer.Error = listed("warning", warnings), listed("error", answer.ValidationErrors)
	return answer, nil
}
