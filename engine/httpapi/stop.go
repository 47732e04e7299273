package httpapi

import (
	"net/http"
	"strconv"
)

// jobStopped and allocStopped are answers as they are on the wire, which
// differs from the client's types in what surrounds them.
type (
	jobStopped struct {
		EvalID                          string
		EvalCreateIndex, JobModifyIndex uint64
		VolumeEvalID                    string // there never is one
		VolumeEvalIndex, Index          uint64
		LastContact                     int
		KnownLeader                     bool
		NextToken                       string
	}
	allocStopped struct {
		EvalID string
		Index  uint64
	}
)

// stopJob answers DELETE /v1/job/:id, which returns before the job has ended.
// There is no evaluation where there was nothing to stop.
func (s *Server) stopJob(w http.ResponseWriter, r *request) (any, error) {
	purge, err := r.flag("purge")
	if err != nil {
		return nil, err
	}
	if noDelay, err := r.flag("no_shutdown_delay"); err != nil || noDelay {
		return nil, noShutdownDelay(err)
	}
	answer := &jobStopped{}
	_, j, err := s.findJob(r)
	if err != nil {
		return answer, nil //nolint:nilerr // as in Nomad
	}
	if how := r.query.Get("run"); how != "" {
		return answer, s.stopRun(how)
	}
	stopped, err := s.engine.StopJob(r.id, purge)
	if err != nil {
		return nil, err
	}
	if stopped {
		evaluation := s.tracker.evaluate(triggerDeregister, r.id, r.id)
		answer.Index = s.tracker.index(jobTopic(r.id))
		answer.JobModifyIndex = answer.Index
		if !j.IsPeriodic() && !j.IsParameterized() {
			answer.EvalID, answer.EvalCreateIndex = evaluation, answer.Index
		}
	}
	s.setIndex(w, answer.Index)
	return answer, nil
}

// stopRun stops the whole run that a job belongs to: how is stop or kill. That
// is a parameter of taskrun's own.
func (s *Server) stopRun(how string) error {
	if s.cfg.StopRun == nil || how != "stop" && how != "kill" {
		return fail(http.StatusBadRequest, "Failed to parse value of %q (%v): it is stop or kill", "run", how)
	}
	s.cfg.StopRun(how == "kill")
	return nil
}

// stopAllocation answers PUT /v1/allocation/:id/stop.
func (s *Server) stopAllocation(w http.ResponseWriter, r *request) (any, error) {
	reschedule, err := r.flag("reschedule")
	if err != nil {
		return nil, err
	}
	if noDelay, err := r.flag("no_shutdown_delay"); err != nil || noDelay {
		return nil, noShutdownDelay(err)
	}
	a, ok := s.engine.Alloc(r.id)
	if !ok {
		return nil, fail(http.StatusNotFound, "allocation not found")
	}
	// First, so that the one that takes its place finds the evaluation.
	answer := &allocStopped{EvalID: s.tracker.evaluate(triggerStop, a.Alloc.Job, a.ID)}
	answer.Index = s.tracker.index(evaluationTopic(answer.EvalID))
	if err := s.engine.StopAlloc(r.id, reschedule); err != nil {
		return nil, err
	}
	s.setIndex(w, answer.Index)
	return answer, nil
}

// noShutdownDelay is why a shutdown delay is not left out.
func noShutdownDelay(err error) error {
	if err != nil {
		return err
	}
	return fail(http.StatusBadRequest, "no_shutdown_delay is not supported by taskrun: remove it to stop with the job's shutdown_delay")
}

func (s *Server) setIndex(w http.ResponseWriter, index uint64) {
	w.Header().Set("X-Nomad-Index", strconv.FormatUint(index, 10))
}
