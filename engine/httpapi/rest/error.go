package rest

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

// Fail returns an error that is answered with a status and a text. The texts
// are Nomad's, which clients look for.
func Fail(code int, format string, args ...any) error {
	return &httpError{code, fmt.Sprintf(format, args...)}
}

var (
	// ErrNotFound is the answer to a path that is not served. It has no body, as
	// in Nomad.
	ErrNotFound = Fail(http.StatusNotFound, "")
	// ErrDenied is the answer to a request without the right to be answered.
	ErrDenied = Fail(http.StatusForbidden, "Permission denied")
	// ErrShutdown is why streams and sessions end when the server does.
	ErrShutdown = errors.New("the run has ended")
)

// UnknownAlloc is the answer to a request for an allocation that is not known.
func UnknownAlloc(id string) error {
	return Fail(http.StatusNotFound, "Unknown allocation %q", id)
}

// StatusOf returns the status of an error: 500 unless Fail made it, as in Nomad.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*httpError](err); ok {
		return e.code
	}
	return http.StatusInternalServerError
}

// WriteError answers with an error.
func WriteError(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch StatusOf(err) {
	case http.StatusForbidden, http.StatusTooManyRequests:
		w.Header().Set("Connection", "close") // its slot is for others
	}
	w.WriteHeader(StatusOf(err))
	_, _ = io.WriteString(w, err.Error()) // a client that is gone needs no answer
}
