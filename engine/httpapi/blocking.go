package httpapi

import (
	"net/http"
	"strconv"
	"time"
)

// maxWait is how long a blocking query waits at most, and unless it says
// otherwise; see https://developer.hashicorp.com/nomad/api-docs#blocking-queries.
const maxWait = 300 * time.Second

// read makes a handler of a query for objects of a topic: one that names an
// index is answered when the topic's is greater, or when its time has passed.
func read(topicOf func(id string) topic, get func(*Server, http.ResponseWriter, *request) (any, error)) handler {
	return func(s *Server, w http.ResponseWriter, r *request) error {
		after, wait, err := r.blocking()
		if err != nil {
			return err
		}
		index := s.tracker.wait(r.Context(), topicOf(r.id), after, wait)
		s.setMeta(w, index)
		body, err := s.prepare(r, func() (any, error) { return get(s, w, r) })
		if err != nil {
			return err
		}
		return s.send(w, http.StatusOK, body)
	}
}

// setMeta tells a client what its library wants to know of an answer.
func (s *Server) setMeta(w http.ResponseWriter, index uint64) {
	s.setIndex(w, index)
	w.Header().Set("X-Nomad-KnownLeader", "true")
	w.Header().Set("X-Nomad-LastContact", "0")
}

// blocking returns the index and the time that a query names.
func (r *request) blocking() (after uint64, wait time.Duration, err error) {
	if raw := r.query.Get("index"); raw != "" {
		if after, err = strconv.ParseUint(raw, 10, 64); err != nil {
			return 0, 0, fail(http.StatusBadRequest, "Invalid index")
		}
	}
	wait = maxWait
	if raw := r.query.Get("wait"); raw != "" {
		if wait, err = time.ParseDuration(raw); err != nil {
			return 0, 0, fail(http.StatusBadRequest, "Invalid wait time")
		}
	}
	if wait <= 0 || wait > maxWait {
		wait = maxWait
	}
	return after, wait, nil
}
