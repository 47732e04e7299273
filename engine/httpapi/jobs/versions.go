package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/update"
	"taskrun/jobspec"
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
	kept, err := h.run.Engine.Versions(key)
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
			shown.Status, shown.Stop = newest.Status, new(false)
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

// maxTexts limits the listed errors, and warnings, of a response.
const maxTexts = 100

// checkJob converts a job to the form that would run, and returns its warnings
// and errors.
func (h *Handler) checkJob(order Order, job *api.Job) (warnings, errs []string) {
	if err := errors.Join(checkSize(job), checkNulls(job)); err != nil {
		return nil, []string{err.Error()}
	}
	for _, p := range h.preflight(order, job) {
		if p.Severity == jobspec.Error {
			errs = append(errs, p.Error())
		} else {
			warnings = append(warnings, p.Error())
		}
	}
	return few(warnings), few(errs)
}

// accept checks the job of a request, refuses an invalid one, and returns
// warnings. The given texts are for a job without an ID, or with an ID other
// than the path's. As in Nomad, the namespace of the query, and then that of the
// body, override the job's own.
func (h *Handler) accept(r *rest.Request, order Order, job *api.Job, bodyNamespace, noID, otherID string) (warnings []string, err error) {
	switch {
	case job == nil:
		return nil, rest.Fail(http.StatusBadRequest, "Job must be specified")
	case job.ID == nil:
		return nil, rest.Fail(http.StatusBadRequest, "%s", noID)
	case r.ID != "" && r.ID != *job.ID:
		return nil, rest.Fail(http.StatusBadRequest, "%s", otherID)
	}
	asked := cmp.Or(r.Query.Get("namespace"), bodyNamespace)
	switch {
	case asked != "" && (h.run.Resident || asked != api.AllNamespacesNamespace):
		job.Namespace = &asked
	case job.Namespace != nil && *job.Namespace == "":
		job.Namespace = nil // the default one
	}
	warnings, errs := h.checkJob(order, job)
	if len(errs) > 0 {
		return nil, rest.Fail(http.StatusInternalServerError, "%s", listed("error", errs))
	}
	if h.run.Resident {
		return warnings, h.admit(job)
	}
	if now, ok := h.run.Engine.Job(*job.ID); ok && *now.Namespace != *job.Namespace { // with another namespace, it would be another job
		return nil, fmt.Errorf("cannot move job %q from namespace %q to %q: stop it and start it there", *job.ID, *now.Namespace, *job.Namespace)
	}
	return warnings, nil
}

// few returns the first of many texts.
func few(texts []string) []string {
	if more := len(texts) - maxTexts; more > 0 {
		return append(texts[:maxTexts:maxTexts], fmt.Sprintf("and %d more", more))
	}
	return texts
}

// listed joins texts like Nomad's server does. The result is empty if there are
// none.
func listed(what string, texts []string) string {
	switch len(texts) {
	case 0:
		return ""
	case 1:
		what = "1 " + what
	default:
		what = fmt.Sprintf("%d %ss", len(texts), what)
	}
	return what + ":\n\n* " + strings.Join(texts, "\n* ")
}
