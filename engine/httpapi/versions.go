package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/update"
	"taskrun/jobspec"
)

// jobVersions answers GET /v1/job/:id/versions: the versions that are kept, the
// newest first; with diffs also what each has changed.
func (s *Server) jobVersions(_ http.ResponseWriter, r *request) (any, error) {
	_, newest, err := s.findJob(r)
	if err != nil {
		return nil, fail(http.StatusNotFound, "job versions not found")
	}
	if r.query.Has("diff_version") || r.query.Has("diff_tag") {
		return nil, fail(http.StatusNotImplemented, "taskrun compares a version with the one before it alone: leave out diff_version and diff_tag")
	}
	withDiffs, err := r.flag("diffs")
	if err != nil {
		return nil, err
	}
	kept, err := s.engine.Versions(r.id)
	if err != nil {
		return nil, fail(http.StatusNotFound, "job versions not found")
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
			index := s.tracker.adoptedAt(version(r.id, *j.Version))
			shown.CreateIndex, shown.JobModifyIndex, shown.ModifyIndex = newest.CreateIndex, &index, &index
			shown.Status, shown.Stop = newest.Status, new(false)
			s.addPolicies(&shown)
			if withDiffs {
				answer.Diffs = append(answer.Diffs, update.Diff(j, kept[i-1]))
			}
		}
		answer.Versions = append(answer.Versions, &shown)
	}
	return answer, nil
}

// adoptedAt returns the index of a version of a job, by its name.
func (t *tracker) adoptedAt(name string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.adopted[name], firstIndex)
}

// queryMeta is what Nomad's server repeats of an answer's headers in some
// bodies.
type queryMeta struct {
	Index       uint64
	LastContact int
	KnownLeader bool
	NextToken   string
}

// validateJob answers PUT /v1/validate/job with what is wrong with a job; that
// is no error of the request.
func (s *Server) validateJob(w http.ResponseWriter, r *request) (any, error) {
	var order api.JobValidateRequest
	if err := r.decodeJob(w, &order); err != nil {
		return nil, err
	}
	if order.Job == nil {
		return nil, fail(http.StatusBadRequest, "Job must be specified")
	}
	answer := &api.JobValidateResponse{DriverConfigValidated: true}
	var warnings []string
	warnings, answer.ValidationErrors = s.checkJob(OrderValidate, order.Job)
	answer.Warnings, answer.Error = listed("warning", warnings), listed("error", answer.ValidationErrors)
	return answer, nil
}

// maxTexts is how many things a job is told that are wrong with it.
const maxTexts = 100

// checkJob makes of a job what would run, and says what is wrong with it.
func (s *Server) checkJob(order Order, job *api.Job) (warnings, faults []string) {
	if err := errors.Join(checkSize(job), checkNulls(job)); err != nil {
		return nil, []string{err.Error()}
	}
	for _, p := range s.cfg.Preflight(order, job) {
		if p.Severity == jobspec.Error {
			faults = append(faults, p.Error())
		} else {
			warnings = append(warnings, p.Error())
		}
	}
	return few(warnings), few(faults)
}

// few are the first of many texts.
func few(texts []string) []string {
	if more := len(texts) - maxTexts; more > 0 {
		return append(texts[:maxTexts:maxTexts], fmt.Sprintf("and %d more", more))
	}
	return texts
}

// listed writes texts as one, as Nomad's server does; none is nothing.
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
