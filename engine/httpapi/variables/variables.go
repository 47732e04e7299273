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

// maxVariable limits a variable in its wire format, in bytes: its maximum
// content, escaped.
const maxVariable = 512 << 10

// List answers GET /v1/vars with the public part of each variable.
func (h *Handler) List(r *rest.Request) (any, error) {
	namespace, prefix := cmp.Or(r.Query.Get("namespace"), api.DefaultNamespace), r.Query.Get("prefix")
	list := []*api.VariableMetadata{}
	for _, v := range h.store.All() {
		if r.MayRead != nil && !r.MayRead(v.Namespace, v.Path) {
			continue
		}
		if (namespace == "*" || v.Namespace == namespace) && strings.HasPrefix(v.Path, prefix) {
			list = append(list, v.Metadata())
		}
	}
	return rest.Page(r, list, func(v *api.VariableMetadata) string { return v.Namespace + "." + v.Path })
}

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
	return v, nil
}

// Put answers PUT /v1/var/:path. With cas, the variable must not have changed.
func (h *Handler) Put(r *rest.Request) error {
	for _, lock := range []string{"lock-acquire", "lock-renew", "lock-release"} {
		if r.Query.Has(lock) {
			return rest.Fail(http.StatusNotImplemented, "cannot lock variable %q: taskrun has no locks of variables", r.ID)
		}
	}
	cas, err := checkAndSet(r)
	if err != nil {
		return err
	}
	var v api.Variable
	if err := r.DecodeUpTo(maxVariable, &v); err != nil {
		return err
	}
	if v.Path != "" && v.Path != r.ID {
		return rest.Fail(http.StatusBadRequest, "the variable's path %q is not that of the request, %q", v.Path, r.ID)
	}
	v.Path = r.ID
	if v.Namespace, err = namespaceOf(r, v.Namespace); err != nil {
		return err
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
	r.SetIndex(h.index(fold.Topic{Table: fold.Variables, Key: r.ID}))
	r.Answer.WriteHeader(http.StatusNoContent)
	return nil
}

// writeConflict responds with the current variable, or an empty one.
func writeConflict(r *rest.Request, err error, now, wanted *api.Variable) error {
	if !errors.Is(err, variable.ErrConflict) {
		return err
	}
	if now == nil {
		now = &api.Variable{Namespace: wanted.Namespace, Path: wanted.Path}
	}
	return r.JSON(http.StatusConflict, now)
}

// checkAndSet returns the index that a variable must have; nil means any.
func checkAndSet(r *rest.Request) (*uint64, error) {
	if !r.Query.Has("cas") {
		return nil, nil
	}
	index, err := strconv.ParseUint(r.Query.Get("cas"), 10, 64)
	if err != nil {
		return nil, rest.Fail(http.StatusBadRequest, "cannot parse cas: %v", err)
	}
	return &index, nil
}

// namespaceOf returns the namespace of a variable: that of the request, or else
// of the body, or else the default one.
func namespaceOf(r *rest.Request, body string) (string, error) {
	namespace := cmp.Or(r.Query.Get("namespace"), body, api.DefaultNamespace)
	if namespace == "*" {
		return "", rest.Fail(http.StatusBadRequest, "a variable is in one namespace, not in all")
	}
	return namespace, nil
}
