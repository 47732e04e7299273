package jobs

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

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
	withDiffs, err := r.Flag("diffs")
	if err != nil {
		return nil, err
	}
	key := h.run.Key(r)
	kept, err := h.run.Engine.Handle(key).Versions()
	if err != nil {
		return nil, rest.Fail(http.StatusNotFound, "job versions not found")
	}
	base, err := baseOf(r, kept, withDiffs)
	if err != nil {
		return nil, err
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
		}
		switch {
		case !withDiffs:
		case base != nil:
			answer.Diffs = append(answer.Diffs, update.Diff(base, j))
		case i > 0:
			answer.Diffs = append(answer.Diffs, update.Diff(j, kept[i-1]))
		}
		answer.Versions = append(answer.Versions, &shown)
	}
	return answer, nil
}

// baseOf returns the version that the request compares with all versions, or nil if
// each is compared with the one before it, or none.
func baseOf(r *rest.Request, kept []*api.Job, withDiffs bool) (*api.Job, error) {
	tag, text := r.Query.Get("diff_tag"), r.Query.Get("diff_version")
	if tag == "" && text == "" {
		return nil, nil
	}
	var number uint64
	if text != "" {
		var err error
		if number, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, fmt.Errorf("Failed to parse value of %q (%s) as a uint64: %w", "diff_version", text, err) //nolint:staticcheck // Nomad's words
		}
	}
	if !withDiffs {
		return nil, nil
	}
	i := slices.IndexFunc(kept, func(j *api.Job) bool {
		if tag != "" {
			return j.VersionTag != nil && j.VersionTag.Name == tag
		}
		return *j.Version == number
	})
	switch {
	case i >= 0:
		return kept[i], nil
	case tag != "":
		return nil, fmt.Errorf("tag %q not found", tag)
	default:
		return nil, fmt.Errorf("version %d not found", number)
	}
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
	h.place(r, order.Job, order.Namespace)
	var warnings []string
	warnings, answer.ValidationErrors = h.checkJob(OrderValidate, order.Job)
	if h.run.Resident && len(answer.ValidationErrors) == 0 {
		if err := h.admit(order.Job); err != nil {
			answer.ValidationErrors = []string{err.Error()}
		}
	}
	answer.Warnings, answer.Error = listed("warning", warnings), listed("error", answer.ValidationErrors)
	return answer, nil
}
