package variables

import (
	"errors"
	"net/http"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/chance"
	"taskrun/engine/leaf/variable"
)

// Orders about the lock of a variable. They are names of parameters.
const (
	acquire = "lock-acquire"
	renew   = "lock-renew"
	release = "lock-release"
)

// lockOrder returns what a request orders about the lock of a variable, or "".
func lockOrder(r *rest.Request) (order string, err error) {
	for _, o := range []string{acquire, renew, release} {
		switch {
		case !r.Query.Has(o):
		case order != "":
			return "", rest.Fail(http.StatusBadRequest, "multiple lock operations")
		default:
			order = o
		}
	}
	if order != "" && r.Query.Get("cas") != "" {
		return "", rest.Fail(http.StatusBadRequest, "CAS can't be used with lock operations")
	}
	return order, nil
}

// lock carries out an order about a lock.
func (h *Handler) lock(r *rest.Request, order string, v *api.Variable) error {
	switch order {
	case acquire:
		return h.acquire(r, v)
	case renew:
		return h.renew(r, v)
	default:
		return h.release(r, v)
	}
}

// acquire locks a variable, and sets its items.
func (h *Handler) acquire(r *rest.Request, v *api.Variable) (err error) {
	if err := variable.Check(v); err != nil {
		return rest.Fail(http.StatusBadRequest, "%v", err)
	}
	if v.Lock, err = variable.NewLock(v.Lock, chance.Source{}.ID()); err != nil {
		return rest.Fail(http.StatusBadRequest, "%v", err)
	}
	now, err := h.store.Acquire(v)
	if err != nil {
		return writeConflict(r, err, nil, v)
	}
	r.SetIndex(now.ModifyIndex)
	return r.JSON(http.StatusOK, now)
}

// renew renews the lease of a lock.
func (h *Handler) renew(r *rest.Request, v *api.Variable) error {
	if v.LockID() == "" {
		return rest.Fail(http.StatusBadRequest, "missing lock ID")
	}
	now, err := h.store.Renew(v.Namespace, v.Path, v.Lock.ID)
	if err != nil {
		return refused(err)
	}
	r.SetIndex(now.ModifyIndex)
	return r.JSON(http.StatusOK, metadata(r, now))
}

// release removes a lock. The answer has no items.
func (h *Handler) release(r *rest.Request, v *api.Variable) error {
	switch {
	case v.LockID() == "":
		return rest.Fail(http.StatusBadRequest, "missing lock information")
	case v.Items != nil:
		return rest.Fail(http.StatusBadRequest, "lock release operation doesn't take variable items")
	}
	now, err := h.store.Release(v.Namespace, v.Path, v.Lock.ID)
	if errors.Is(err, variable.ErrLocked) {
		return writeConflict(r, err, nil, &api.Variable{Namespace: v.Namespace, Path: v.Path})
	}
	if err != nil {
		return refused(err)
	}
	r.SetIndex(now.ModifyIndex)
	return r.JSON(http.StatusOK, now.Metadata())
}

// refused returns the response to an order that the state of the lock forbids.
func refused(err error) error {
	switch {
	case errors.Is(err, variable.ErrMissing):
		return rest.Fail(http.StatusNotFound, "%v", err)
	case errors.Is(err, variable.ErrLocked), errors.Is(err, variable.ErrNotLocked):
		return rest.Fail(http.StatusConflict, "%v", err)
	default:
		return err
	}
}
