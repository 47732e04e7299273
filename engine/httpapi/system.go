package httpapi

import "net/http"

// Orders for a cluster's servers and clients. What they would do is done
// already, or cannot be done to a single machine whose run a user has started.

// collectGarbage answers PUT /v1/system/gc: evaluations of jobs that have ended
// are forgotten. Jobs and allocations stay as long as the run, of which they
// are what it has done.
func (s *Server) collectGarbage(w http.ResponseWriter, r *request) error {
	run := s.look()
	s.tracker.forgetEvaluations(func(e evaluationRecord) bool {
		j := run.job(e.job)
		return j == nil || *j.Status == "dead"
	})
	return nothing(w)
}

// reconcileSummaries answers PUT /v1/system/reconcile/summaries: summaries are
// counted whenever somebody asks for one.
func (s *Server) reconcileSummaries(w http.ResponseWriter, _ *request) error { return nothing(w) }

// nothing is an answer without a body.
func nothing(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusOK)
	return nil
}

// refuseNode answers orders for a node.
func (s *Server) refuseNode(_ http.ResponseWriter, r *request) error {
	if r.id != s.cfg.Node.ID {
		return fail(http.StatusNotFound, "node not found")
	}
	return fail(http.StatusNotImplemented, "not supported by taskrun: there is no other node to which allocations could go; stop the job to be rid of them")
}

// refuseClientGC answers the order to remove all allocations that have ended.
func (s *Server) refuseClientGC(http.ResponseWriter, *request) error {
	return fail(http.StatusNotImplemented, "not supported by taskrun: of what has ended it keeps the latest allocations alone; taskrun clean removes the runs that have ended")
}

// refuseAllocGC answers the order to remove an allocation.
func (s *Server) refuseAllocGC(w http.ResponseWriter, r *request) error {
	if _, ok := s.engine.Alloc(r.id); !ok {
		return unknownAlloc(r.id)
	}
	return s.refuseClientGC(w, r)
}

// refuseEvaluations answers the order to delete evaluations.
func (s *Server) refuseEvaluations(http.ResponseWriter, *request) error {
	return fail(http.StatusNotImplemented, "not supported by taskrun: no evaluation waits for a scheduler; those of jobs that have ended are removed by nomad system gc")
}

// refuseUnblock answers PUT /v1/deployment/unblock/:id: deployments wait for
// those of other regions only.
func (s *Server) refuseUnblock(_ http.ResponseWriter, r *request) error {
	run := s.look()
	for _, j := range run.jobs {
		for _, d := range s.deployments(run, *j.ID) {
			if d.ID == r.id {
				return fail(http.StatusBadRequest, "can't unblock a deployment that is not blocked: it is %s", d.Status)
			}
		}
	}
	return fail(http.StatusNotFound, "deployment not found")
}

// refusePause answers GET and PUT /v1/client/allocation/:id/pause, which
// Nomad's community edition refuses likewise.
func (s *Server) refusePause(_ http.ResponseWriter, r *request) error {
	if _, ok := s.engine.Alloc(r.id); !ok {
		return unknownAlloc(r.id)
	}
	return fail(http.StatusInternalServerError, "Enterprise only")
}
