package jobs

import (
	"net/http"

	"taskrun/engine"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/event"
)

// jobStopped is the response in its wire format, whose metadata differs from
// the client's type.
type jobStopped struct {
	EvalID                          string
	EvalCreateIndex, JobModifyIndex uint64
	VolumeEvalID                    string // always empty
	VolumeEvalIndex, Index          uint64
	LastContact                     int
	KnownLeader                     bool
	NextToken                       string
}

// Stop answers DELETE /v1/job/:id, before the job has ended. A run has no
// evaluation if there was nothing to stop.
func (h *Handler) Stop(r *rest.Request) (any, error) {
	order, err := deregistration(r)
	if err != nil {
		return nil, err
	}
	answer := &jobStopped{}
	_, j, err := h.run.FindJob(r)
	if err != nil {
		return answer, nil //nolint:nilerr // as in Nomad
	}
	if how := r.Query.Get("run"); how != "" { // taskrun's own parameter: stop the whole run
		if h.stopRun == nil || how != "stop" && how != "kill" {
			return nil, rest.Fail(http.StatusBadRequest, "Failed to parse value of %q (%v): it is stop or kill", "run", how)
		}
		if order.NoShutdownDelay {
			h.run.Engine.SkipShutdownDelays()
		}
		h.stopRun(how == "kill")
		return answer, nil
	}
	key := h.run.Key(r)
	if answer.EvalID, answer.Index, err = h.stop(key, order); err != nil {
		if _, known := h.run.Engine.Job(key); !known { // it has just been purged
			return &jobStopped{}, nil
		}
		return nil, err
	}
	if answer.JobModifyIndex = answer.Index; j.IsPeriodic() || j.IsParameterized() {
		answer.EvalID = ""
	} else {
		answer.EvalCreateIndex = answer.Index
	}
	r.SetIndex(answer.Index)
	return answer, nil
}

// deregistration returns how a request wants to stop a job.
func deregistration(r *rest.Request) (order engine.Deregistration, err error) {
	if order.Purge, err = r.Flag("purge"); err != nil {
		return order, err
	}
	if order.NoShutdownDelay, err = r.Flag("no_shutdown_delay"); err != nil {
		return order, err
	}
	priority, err := r.Number("eval_priority")
	if err != nil || priority <= 0 {
		return order, err
	}
	order.EvalPriority, err = evalPriority(int(priority))
	return order, err
}

// stop stops a job, and returns the evaluation and its index. Both are zero if
// there was nothing to stop.
func (h *Handler) stop(key string, order engine.Deregistration) (evaluation string, index uint64, err error) {
	if h.run.Resident {
		stopped, err := h.run.Engine.Handle(key).Deregister(order)
		return stopped.Evaluation, stopped.Index, err
	}
	stopped, err := h.run.Engine.Handle(key).Stop(order)
	if stopped {
		evaluation, index = h.run.Tracker.Evaluated(key, "", event.JobDeregister)
	}
	return evaluation, index, err
}
