package jobs

import (
	"fmt"
	"net/http"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/httpapi/rest"
)

// jobRegistered is the response in its wire format.
type jobRegistered struct {
	EvalID                          string
	EvalCreateIndex, JobModifyIndex uint64
	Warnings                        string
	queryMeta
}

// Register answers PUT /v1/jobs and PUT /v1/job/:id. An engine that is not
// resident takes only versions of its own jobs.
func (h *Handler) Register(r *rest.Request, order *api.JobRegisterRequest) (any, error) {
	priority, err := evalPriority(order.EvalPriority)
	if err != nil {
		return nil, err
	}
	warnings, err := h.accept(r, OrderRegister, order.Job, order.Namespace, "Job ID hasn't been provided", "Job ID does not match name")
	if err != nil {
		return nil, err
	}
	key := h.run.KeyOf(order.Job)
	if _, known := h.run.Engine.Job(key); !known && !h.run.Resident {
		if err := h.enforceIndex(order, key, nil); err != nil {
			return nil, err
		}
		return nil, rest.Fail(http.StatusNotImplemented, "job %q is not one of this run, which takes no others: start it with taskrun up", *order.Job.ID)
	}
	source, dropped := kept(order.Submission)
	if dropped != "" {
		warnings = append(warnings, dropped)
	}
	registered, err := h.run.Engine.Register(engine.Registration{
		Job: order.Job, Submission: source, EvalPriority: priority,
		Admit: func(now *api.Job) error {
			if err := h.enforceIndex(order, key, now); err != nil {
				return err
			}
			preserve(order, now)
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	answer := h.registered(r, registered)
	if order.Job.IsPeriodic() || order.Job.IsParameterized() { // nothing is placed that clients could wait for
		answer.EvalID, answer.EvalCreateIndex = "", 0
	}
	answer.Warnings = listed("warning", warnings)
	return answer, nil
}

// registered responds to an order that resulted in a version of a job, possibly
// the existing one.
func (h *Handler) registered(r *rest.Request, now engine.Registered) *jobRegistered {
	answer := &jobRegistered{EvalID: now.Evaluation, EvalCreateIndex: now.Index, JobModifyIndex: now.Modified}
	answer.Index = now.Index
	r.SetIndex(answer.Index)
	return answer
}

// version is the effect of an order that resulted in a version.
func (h *Handler) version(key string, number uint64) engine.Registered {
	index, evaluation := h.run.Tracker.Version(key, number)
	return engine.Registered{Version: number, Evaluation: evaluation, Index: index, Modified: index}
}

// preserve gives a version the counts and the resources of the newest one, if
// the order says so.
func preserve(order *api.JobRegisterRequest, now *api.Job) {
	if now == nil {
		return
	}
	for _, g := range order.Job.TaskGroups {
		was := now.LookupTaskGroup(*g.Name)
		if was == nil {
			continue
		}
		if order.PreserveCounts {
			g.Count = new(*was.Count)
		}
		if !order.PreserveResources {
			continue
		}
		for _, t := range g.Tasks {
			for _, old := range was.Tasks {
				if old.Name == t.Name {
					t.Resources = old.Resources
				}
			}
		}
	}
}

// enforceIndex refuses a version that is based on an outdated one. The texts
// are Nomad's, because clients parse them.
func (h *Handler) enforceIndex(order *api.JobRegisterRequest, key string, now *api.Job) error {
	switch {
	case !order.EnforceIndex:
		return nil
	case now == nil && order.JobModifyIndex != 0:
		return rest.Fail(http.StatusInternalServerError, "Enforcing job modify index %d: job does not exist", order.JobModifyIndex)
	case now == nil:
		return nil
	case order.JobModifyIndex == 0:
		return rest.Fail(http.StatusInternalServerError, "Enforcing job modify index 0: job already exists")
	}
	if index, _ := h.run.Tracker.Version(key, *now.Version); order.JobModifyIndex != index {
		return conflict(order.JobModifyIndex, index)
	}
	return nil
}

// conflict refuses a change that is based on another index than the job's.
func conflict(given, actual uint64) error {
	return fmt.Errorf("Enforcing job modify index %d: job exists with conflicting job modify index: %d", given, actual) //nolint:staticcheck // Nomad's words
}

// Revert answers PUT /v1/job/:id/revert: an earlier version becomes the
// newest one.
func (h *Handler) Revert(r *rest.Request, order *api.JobRevertRequest) (any, error) {
	if err := r.Names("Job", order.JobID); err != nil {
		return nil, err
	}
	if _, _, err := h.run.FindJob(r); err != nil {
		return nil, fmt.Errorf("job %q not found", r.ID) // Nomad's status
	}
	key := h.run.Key(r)
	plan, err := h.run.Engine.Handle(key).Revert(order.JobVersion, order.EnforcePriorVersion)
	if err != nil {
		return nil, err
	}
	return h.registered(r, h.version(key, plan.Version)), nil
}

// SetStable answers PUT /v1/job/:id/stable.
func (h *Handler) SetStable(r *rest.Request, order *api.JobStabilityRequest) (any, error) {
	if err := r.Names("Job", order.JobID); err != nil {
		return nil, err
	}
	_, job, err := h.run.FindJob(r)
	if err != nil { // with Nomad's status
		return nil, fmt.Errorf("job %q in namespace %q at version %d not found", r.ID, r.Namespace(), order.JobVersion)
	}
	key := h.run.KeyOf(job)
	if err := h.run.Engine.Handle(key).SetStable(order.JobVersion, order.Stable); err != nil {
		return nil, err
	}
	index := h.run.Engine.State().Index(fold.Topic{Table: fold.Jobs, Key: key})
	r.SetIndex(index)
	return struct{ Index uint64 }{index}, nil
}
