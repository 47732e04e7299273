package jobs

import (
	"errors"
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/httpapi/rest"
)

// maxTagName limits the name of a version, in bytes.
const maxTagName = 128

// Tag answers PUT /v1/job/:id/versions/:tag/tag.
func (h *Handler) Tag(r *rest.Request) error {
	var order api.TagVersionRequest
	if err := r.Decode(&order); err != nil {
		return err
	}
	name, err := h.tagOf(r)
	if err != nil {
		return err
	}
	number := &order.Version
	if order.Version == 0 && order.Latest {
		number = nil
	}
	return h.tagged(r, h.run.Engine.Handle(h.run.Key(r)).Tag(number, name, order.Description))
}

// Untag answers DELETE /v1/job/:id/versions/:tag/tag.
func (h *Handler) Untag(r *rest.Request) error {
	name, err := h.tagOf(r)
	if err != nil {
		return err
	}
	return h.tagged(r, h.run.Engine.Handle(h.run.Key(r)).Untag(name))
}

// tagOf splits the ID of a request into a job's ID, which must exist, and a
// tag.
func (h *Handler) tagOf(r *rest.Request) (tag string, err error) {
	i := strings.LastIndex(r.ID, "/versions/")
	if i < 0 {
		return "", rest.ErrNotFound
	}
	r.ID, tag = r.ID[:i], r.ID[i+len("/versions/"):]
	if tag == "" || len(tag) > maxTagName {
		return "", rest.Fail(http.StatusBadRequest, "the name of a tag has 1 to %d bytes", maxTagName)
	}
	_, _, err = h.run.FindJob(r)
	return tag, err
}

// tagged responds to a change of a tag.
func (h *Handler) tagged(r *rest.Request, err error) error {
	switch {
	case errors.Is(err, engine.ErrNoVersion):
		return rest.Fail(http.StatusNotFound, "%v", err)
	case errors.Is(err, engine.ErrTagged):
		return rest.Fail(http.StatusBadRequest, "%v", err)
	case err != nil:
		return err
	}
	r.SetIndex(h.run.Engine.State().Index(fold.Topic{Table: fold.Jobs, Key: h.run.Key(r)}))
	return r.Nothing()
}
