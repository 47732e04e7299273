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

// decodeJob is decode for a body with a job. A few are read at a time, since
// what they become in memory can be many times as large.
func (s *Server) decodeJob(w http.ResponseWriter, r *request, into any) error {
	select {
	case s.jobs <- struct{}{}:
		defer func() { <-s.jobs }()
	case <-r.Context().Done():
		return r.Context().Err()
	}
	return r.decodeUpTo(w, maxJob, into)
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

// writeJSON answers with an object, indented if the client asks for that.
func (r *request) writeJSON(w http.ResponseWriter, v any) error {
	return r.writeStatus(w, http.StatusOK, v)
}

func (r *request) writeStatus(w http.ResponseWriter, status int, v any) error {
	encode := json.Marshal
	if pretty, ok := r.query["pretty"]; ok && pretty[0] != "0" {
		encode = func(v any) ([]byte, error) { return json.MarshalIndent(v, "", "    ") }
	}
	body, err := encode(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
	return nil
}

// write makes a handler of what has no index.
func write(do func(*Server, http.ResponseWriter, *request) (any, error)) handler {
	return func(s *Server, w http.ResponseWriter, r *request) error {
		v, err := do(s, w, r)
		if err != nil {
			return err
		}
		return r.writeJSON(w, v)
	}
}
