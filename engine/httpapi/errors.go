package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

// httpError is an answer other than 200.
type httpError struct {
	code int
	text string
}

func (e *httpError) Error() string { return e.text }

// fail returns an error that is answered with a status and a text. The texts
// are Nomad's, which clients look for.
func fail(code int, format string, args ...any) error {
	return &httpError{code, fmt.Sprintf(format, args...)}
}

// errNotFound is the answer to a path that is not served: Nomad's has no body.
var errNotFound = fail(http.StatusNotFound, "")

func unknownAlloc(id string) error {
	return fail(http.StatusNotFound, "Unknown allocation %q", id)
}

// statusOf is 500 for errors that nobody gave a status to, as in Nomad.
func statusOf(err error) int {
	if e, ok := errors.AsType[*httpError](err); ok {
		return e.code
	}
	return http.StatusInternalServerError
}

func writeError(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch statusOf(err) {
	case http.StatusForbidden, http.StatusTooManyRequests:
		w.Header().Set("Connection", "close") // its slot is for others
	}
	w.WriteHeader(statusOf(err))
	_, _ = io.WriteString(w, err.Error()) // a client that is gone needs no answer
}
