package jobs

import (
	"net/http"

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

// Stop answers DELETE /v1/job/:id, before the job has ended. There is no
// evaluation if there was nothing to stop.
func (h *Handler) Stop(r *rest.Request) (any, error) {
	purge, err := r.Flag("purge")
	if err != nil {
		return nil, err
	}
	if err := r.NoShutdownDelay(); err != nil {
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
		h.stopRun(how == "kill")
		return answer, nil
	}
	stopped, err := h.run.Engine.StopJob(h.run.Key(r), purge)
	if err != nil {
		return nil, err
	}
	if stopped {
		evaluation, index := h.run.Tracker.Evaluated(h.run.Key(r), "", event.JobDeregister)
		answer.Index = index
		answer.JobModifyIndex = answer.Index
		if !j.IsPeriodic() && !j.IsParameterized() {
			answer.EvalID, answer.EvalCreateIndex = evaluation, answer.Index
		}
	}
	r.SetIndex(answer.Index)
	return answer, nil
}
