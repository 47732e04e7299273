package httpapi

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/variable"
)

// maxVariable is how large a variable may be on the wire, in bytes: what may be
// in it, escaped.
const maxVariable = 512 << 10

// listVariables answers GET /v1/vars: of each variable what is no secret.
func (s *Server) listVariables(_ http.ResponseWriter, r *request) (any, error) {
	namespace, prefix := cmp.Or(r.query.Get("namespace"), api.DefaultNamespace), r.query.Get("prefix")
	list := []*api.VariableMetadata{}
	for _, v := range s.engine.Variables().All() {
		if r.caller != nil && !r.caller.mayRead(v.Namespace, v.Path) {
			continue
		}
		if (namespace == "*" || v.Namespace == namespace) && strings.HasPrefix(v.Path, prefix) {
			list = append(list, v.Metadata())
		}
	}
	return page(r, list, func(v *api.VariableMetadata) string { return v.Namespace + "." + v.Path })
}

// getVariable answers GET /v1/var/:path.
func (s *Server) getVariable(_ http.ResponseWriter, r *request) (any, error) {
	namespace, err := r.variableNamespace("")
	if err != nil {
		return nil, err
	}
	v := s.engine.Variables().Get(namespace, r.id)
	if v == nil {
		return nil, fail(http.StatusNotFound, "variable not found")
	}
	return v, nil
}

// putVariable answers PUT /v1/var/:path, with cas only if the variable is as it
// was then.
func (s *Server) putVariable(w http.ResponseWriter, r *request) error {
	for _, lock := range []string{"lock-acquire", "lock-renew", "lock-release"} {
		if r.query.Has(lock) {
			return fail(http.StatusNotImplemented, "cannot lock variable %q: taskrun has no locks of variables", r.id)
		}
	}
	cas, err := r.checkAndSet()
	if err != nil {
		return err
	}
	var v api.Variable
	if err := r.decodeUpTo(w, maxVariable, &v); err != nil {
		return err
	}
	if v.Path != "" && v.Path != r.id {
		return fail(http.StatusBadRequest, "the variable's path %q is not that of the request, %q", v.Path, r.id)
	}
	v.Path = r.id
	if v.Namespace, err = r.variableNamespace(v.Namespace); err != nil {
		return err
	}
	if err := variable.Check(&v); err != nil {
		return fail(http.StatusBadRequest, "%v", err)
	}
	now, err := s.engine.Variables().Put(&v, cas)
	if err != nil {
		return r.writeConflict(w, err, now, &v)
	}
	s.setIndex(w, now.ModifyIndex)
	return r.writeJSON(w, http.StatusOK, now)
}

// deleteVariable answers DELETE /v1/var/:path; one that is not there is gone.
func (s *Server) deleteVariable(w http.ResponseWriter, r *request) error {
	cas, err := r.checkAndSet()
	if err != nil {
		return err
	}
	namespace, err := r.variableNamespace("")
	if err != nil {
		return err
	}
	was, err := s.engine.Variables().Delete(namespace, r.id, cas)
	if err != nil {
		return r.writeConflict(w, err, was, &api.Variable{Namespace: namespace, Path: r.id})
	}
	s.setIndex(w, s.tracker.index(variableTopic(r.id)))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// writeConflict answers with the variable that there is, or one without
// anything.
func (r *request) writeConflict(w http.ResponseWriter, err error, now, wanted *api.Variable) error {
	if !errors.Is(err, variable.ErrConflict) {
		return err
	}
	if now == nil {
		now = &api.Variable{Namespace: wanted.Namespace, Path: wanted.Path}
	}
	return r.writeJSON(w, http.StatusConflict, now)
}

// checkAndSet returns the index that a variable has to have; nil: any.
func (r *request) checkAndSet() (*uint64, error) {
	if !r.query.Has("cas") {
		return nil, nil
	}
	index, err := strconv.ParseUint(r.query.Get("cas"), 10, 64)
	if err != nil {
		return nil, fail(http.StatusBadRequest, "cannot parse cas: %v", err)
	}
	return &index, nil
}

// variableNamespace is the namespace of one variable: that of the request, or
// else the one in its body, or else the default one.
func (r *request) variableNamespace(body string) (string, error) {
	namespace := cmp.Or(r.query.Get("namespace"), body, api.DefaultNamespace)
	if namespace == "*" {
		return "", fail(http.StatusBadRequest, "a variable is in one namespace, not in all")
	}
	return namespace, nil
}
