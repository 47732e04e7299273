package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/validate"
)

// jobVersions answers GET /v1/job/:id/versions. Of a job the newest version is
// kept.
func (s *Server) jobVersions(_ http.ResponseWriter, r *request) (any, error) {
	_, j, err := s.findJob(r)
	if err != nil {
		return nil, fail(http.StatusNotFound, "job versions not found")
	}
	return struct {
		Versions []*api.Job
		Diffs    []*api.JobDiff
		queryMeta
	}{[]*api.Job{j}, nil, queryMeta{Index: *j.ModifyIndex, KnownLeader: true}}, nil
}

// queryMeta is what Nomad's server repeats of an answer's headers in some
// bodies.
type queryMeta struct {
	Index       uint64
	LastContact int
	KnownLeader bool
	NextToken   string
}

// scaleStatus answers GET /v1/job/:id/scale.
func (s *Server) scaleStatus(_ http.ResponseWriter, r *request) (any, error) {
	run, j, err := s.findJob(r)
	if err != nil {
		return nil, err
	}
	status := &api.JobScaleStatusResponse{
		JobID: *j.ID, Namespace: *j.Namespace, JobCreateIndex: *j.CreateIndex, JobModifyIndex: *j.ModifyIndex,
		JobStopped: *j.Stop, TaskGroups: map[string]api.TaskGroupScaleStatus{},
	}
	for _, g := range j.TaskGroups {
		group := api.TaskGroupScaleStatus{Desired: *g.Count}
		for _, a := range run.allocs[*j.ID] {
			if a.Group != *g.Name || s.tracker.alloc(a.ID).next != "" {
				continue
			}
			group.Placed++
			if a.Status == api.AllocClientStatusRunning {
				group.Running++
			}
			switch {
			case a.Healthy == nil:
			case *a.Healthy:
				group.Healthy++
			default:
				group.Unhealthy++
			}
		}
		status.TaskGroups[*g.Name] = group
	}
	return status, nil
}

// validateJob answers PUT /v1/validate/job with what is wrong with a job; that
// is no error of the request.
func (s *Server) validateJob(w http.ResponseWriter, r *request) (any, error) {
	var order api.JobValidateRequest
	if err := s.decodeJob(w, r, &order); err != nil {
		return nil, err
	}
	if order.Job == nil {
		return nil, fail(http.StatusBadRequest, "Job must be specified")
	}
	answer := &api.JobValidateResponse{DriverConfigValidated: true}
	var warnings []string
	warnings, answer.ValidationErrors = checkJob(order.Job)
	answer.Warnings, answer.Error = listed("warning", warnings), listed("error", answer.ValidationErrors)
	return answer, nil
}

// checkJob canonicalises a job and says what is wrong with it.
func checkJob(job *api.Job) (warnings, faults []string) {
	job.Canonicalize()
	jobspec.Register(job)
	for _, p := range validate.Job(job) {
		if p.Severity == jobspec.Error {
			faults = append(faults, p.Error())
		} else {
			warnings = append(warnings, p.Error())
		}
	}
	return warnings, faults
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
