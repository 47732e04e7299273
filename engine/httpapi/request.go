package httpapi

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// request is a request, taken apart.
type request struct {
	*http.Request
	server *Server
	caller *caller // nil: the user
	route  string
	id     string // in the path
	query  url.Values
	header http.Header // of the answer
}

// flag returns a boolean parameter; absent is false, and so is an empty one.
func (r *request) flag(name string) (bool, error) {
	raw := r.query.Get(name)
	if raw == "" {
		return false, nil
	}
	v, err := strconv.ParseBool(raw)
	if err != nil {
		return false, fail(http.StatusBadRequest, "Failed to parse value of %q (%v) as a bool: %v", name, raw, err)
	}
	return v, nil
}

// inNamespace reports whether the request asks for objects of a namespace.
// Locally there are no namespaces that would have to be kept apart: without
// one it asks for all.
func (r *request) inNamespace(name string) bool {
	switch asked := r.query.Get("namespace"); asked {
	case "", "*":
		return true
	default:
		return asked == name
	}
}

// decode reads a JSON body of bounded size in bounded time.
func (r *request) decode(w http.ResponseWriter, into any) error {
	return r.decodeUpTo(w, maxBody, into)
}

func (r *request) decodeUpTo(w http.ResponseWriter, size int64, into any) error {
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(bodyTime)); err != nil {
		return err
	}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, size)).Decode(into)
	if errors.Is(err, io.EOF) {
		return fail(http.StatusBadRequest, "Request body is empty")
	}
	if err != nil {
		return fail(http.StatusBadRequest, "%v", err)
	}
	return control.SetReadDeadline(time.Time{})
}

// write makes a handler of what has no index.
func write(do func(*Server, http.ResponseWriter, *request) (any, error)) handler {
	return func(s *Server, w http.ResponseWriter, r *request) error {
		v, err := do(s, w, r)
		if err != nil {
			return err
		}
		return r.writeJSON(w, http.StatusOK, v)
	}
}
