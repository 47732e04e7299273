package httpapi

import (
	"errors"
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
)

// maxTagName is how long the name of a version may be, in bytes.
const maxTagName = 128

// tagVersion answers PUT /v1/job/:id/versions/:tag/tag.
func (s *Server) tagVersion(w http.ResponseWriter, r *request) error {
	var order api.TagVersionRequest
	if err := r.decode(w, &order); err != nil {
		return err
	}
	name, err := s.tagOf(r)
	if err != nil {
		return err
	}
	number := &order.Version
	if order.Version == 0 && order.Latest {
		number = nil
	}
	return s.tagged(w, r, s.engine.Tag(r.id, number, name, order.Description))
}

// untagVersion answers DELETE /v1/job/:id/versions/:tag/tag.
func (s *Server) untagVersion(w http.ResponseWriter, r *request) error {
	name, err := s.tagOf(r)
	if err != nil {
		return err
	}
	return s.tagged(w, r, s.engine.Untag(r.id, name))
}

// tagOf takes the ID of a request apart into that of a job, which has to be
// there, and a tag.
func (s *Server) tagOf(r *request) (tag string, err error) {
	i := strings.LastIndex(r.id, "/versions/")
	if i < 0 {
		return "", errNotFound
	}
	r.id, tag = r.id[:i], r.id[i+len("/versions/"):]
	if tag == "" || len(tag) > maxTagName {
		return "", fail(http.StatusBadRequest, "the name of a tag has 1 to %d bytes", maxTagName)
	}
	_, _, err = s.findJob(r)
	return tag, err
}

// tagged answers when a tag was changed.
func (s *Server) tagged(w http.ResponseWriter, r *request, err error) error {
	switch {
	case errors.Is(err, engine.ErrNoVersion):
		return fail(http.StatusNotFound, "%v", err)
	case errors.Is(err, engine.ErrTagged):
		return fail(http.StatusBadRequest, "%v", err)
	case err != nil:
		return err
	}
	s.setIndex(w, s.tracker.touch(jobsTopic(""), jobTopic(r.id)))
	return nothing(w)
}

// touch gives topics a new index, which it returns.
func (t *tracker) touch(topics ...topic) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	t.change(topics...)
	return t.now
}
