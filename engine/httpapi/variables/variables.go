// Package variables serves Nomad variables.
package variables

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/chance"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/variable"
)

// Handler serves the variables of a run.
type Handler struct {
	store *variable.Store
	index func(fold.Topic) uint64
}

// New returns a handler of a store. index returns the indexes of its changes.
func New(store *variable.Store, index func(fold.Topic) uint64) *Handler {
	return &Handler{store, index}
}

// Key returns the key of the variable that a request names, in its table.
func Key(r *rest.Request) string { return event.JobKey(r.Query.Get("namespace"), r.ID) }

// maxVariable limits a variable in its wire format, in bytes: its maximum
// content, escaped.
const maxVariable = 512 << 10

// List answers GET /v1/vars with the public part of each variable.
func (h *Handler) List(r *rest.Request) (any, error) {
	namespace, prefix := cmp.Or(r.Query.Get("namespace"), api.DefaultNamespace), r.Query.Get("prefix")
	list := []entry{}
	for _, v := range h.store.All() {
		if r.MayRead != nil && !r.MayRead(v.Namespace, v.Path) {
			continue
		}
		if (namespace == "*" || v.Namespace == namespace) && strings.HasPrefix(v.Path, prefix) {
			list = append(list, entry{metadata(r, v)})
		}
	}
	return rest.Page(r, list, func(v entry) string { return v.Namespace + "." + v.Path })
}

// entry is a variable in a list. A filter names its fields as in Nomad, where they
// are embedded: VariableMetadata.Path.
type entry struct{ *api.VariableMetadata }

// Get answers GET /v1/var/:path.
func (h *Handler) Get(r *rest.Request) (any, error) {
	namespace, err := namespaceOf(r, "")
	if err != nil {
		return nil, err
	}
	v := h.store.Get(namespace, r.ID)
	if v == nil {
		return nil, rest.Fail(http.StatusNotFound, "variable not found")
	}
	if r.MayRead == nil {
		return v, nil
	}
	shown := *v
	shown.Lock = nil // its ID is the right to change the variable
	return &shown, nil
}

// metadata returns the public part of a variable, for users with its lock.
func metadata(r *rest.Request, v *api.Variable) *api.VariableMetadata {
	m := v.Metadata()
	if r.MayRead == nil {
		m.Lock = v.Lock
	}
	return m
}

// Put answers PUT /v1/var/:path, also for its lock. With cas, the variable must
// not have changed.
func (h *Handler) Put(r *rest.Request) error {
	order, err := lockOrder(r)
	if err != nil {
		return err
	}
	cas, err := checkAndSet(r)
	if err != nil {
		return err
	}
	var v api.Variable
	if err := r.DecodeUpTo(maxVariable, &v); err != nil {
		return err
	}
	v.Path = r.ID
	if v.Namespace, err = namespaceOf(r, v.Namespace); err != nil {
		return err
	}
	if order != "" {
		return h.lock(r, order, &v)
	}
	switch {
	case len(v.Items) == 0:
		return rest.Fail(http.StatusBadRequest, "variable missing required Items object")
	case v.Lock != nil && (v.Lock.TTL != "" || v.Lock.LockDelay != ""):
		return rest.Fail(http.StatusBadRequest, "variable should not contain lock definition")
	}
	if err := variable.Check(&v); err != nil {
		return rest.Fail(http.StatusBadRequest, "%v", err)
	}
	now, err := h.store.Put(&v, cas)
	if err != nil {
		return writeConflict(r, err, now, &v)
	}
	r.SetIndex(now.ModifyIndex)
	return r.JSON(http.StatusOK, now)
}

// Delete answers DELETE /v1/var/:path. Deleting a missing variable succeeds.
func (h *Handler) Delete(r *rest.Request) error {
	cas, err := checkAndSet(r)
	if err != nil {
		return err
	}
	namespace, err := namespaceOf(r, "")
	if err != nil {
		return err
	}
	was, err := h.store.Delete(namespace, r.ID, cas)
	if err != nil {
		return writeConflict(r, err, was, &api.Variable{Namespace: namespace, Path: r.ID})
	}
	r.SetIndex(h.index(fold.Topic{Table: fold.Variables, Key: event.JobKey(namespace, r.ID)}))
	r.Answer.WriteHeader(http.StatusNoContent)
	return nil
}

// writeConflict responds with the current variable or, if there is none or it is
// locked, with an empty one.
func writeConflict(r *rest.Request, err error, now, wanted *api.Variable) error {
	switch {
	case errors.Is(err, variable.ErrNotLocked):
		return rest.Fail(http.StatusConflict, "%v", err)
	case !errors.Is(err, variable.ErrConflict) && !errors.Is(err, variable.ErrLocked):
		return err
	}
	if now == nil {
		now = &api.Variable{Namespace: wanted.Namespace, Path: wanted.Path}
	}
	r.SetIndex(now.ModifyIndex)
	return r.JSON(http.StatusConflict, now)
}

// checkAndSet returns the index that a variable must have; nil means any.
func checkAndSet(r *rest.Request) (*uint64, error) {
	raw := r.Query.Get("cas")
	if raw == "" {
		return nil, nil
	}
	index, err := strconv.ParseUint(raw, 10, 64)
	if err != nil {
		return nil, rest.Fail(http.StatusBadRequest, "can not parse cas: %v", err)
	}
	return &index, nil
}

// namespaceOf returns the namespace of a variable: that of the body, or else of
// the request, or else the default one.
func namespaceOf(r *rest.Request, body string) (string, error) {
	namespace := cmp.Or(body, r.Query.Get("namespace"), api.DefaultNamespace)
	if namespace == "*" {
		return "", rest.Fail(http.StatusBadRequest, "a variable is in one namespace, not in all")
	}
	return namespace, nil
}

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
