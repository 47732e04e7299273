package rest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// httpError is a response other than 200.
type httpError struct {
	code int
	text string
}

func (e *httpError) Error() string { return e.text }

// Fail returns an error that leads to a response with a status and a text. The
// texts are Nomad's, because clients search for them.
func Fail(code int, format string, args ...any) error {
	return &httpError{code, fmt.Sprintf(format, args...)}
}

// Several returns the text of several errors in one, as Nomad writes it.
func Several(texts []string) string {
	if len(texts) == 1 {
		return "1 error occurred:\n\t* " + texts[0] + "\n\n"
	}
	return fmt.Sprintf("%d errors occurred:\n\t* %s\n\n", len(texts), strings.Join(texts, "\n\t* "))
}

var (
	// ErrNotFound is the error of a path that is not served. As in Nomad, the
	// response has no body.
	ErrNotFound = Fail(http.StatusNotFound, "")
	// ErrDenied is the error of a request without permission.
	ErrDenied = Fail(http.StatusForbidden, "Permission denied")
	// ErrShutdown ends streams and sessions when the server ends.
	ErrShutdown = errors.New("the run has ended")
)

// UnknownAlloc returns the error of a request for an unknown allocation.
func UnknownAlloc(id string) error {
	return Fail(http.StatusNotFound, "Unknown allocation %q", id)
}

// StatusOf returns the status of an error. As in Nomad, it is 500 unless Fail
// created the error.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*httpError](err); ok {
		return e.code
	}
	return http.StatusInternalServerError
}

// WriteError responds with an error.
func WriteError(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch StatusOf(err) {
	case http.StatusForbidden, http.StatusTooManyRequests:
		w.Header().Set("Connection", "close") // free its slot
	}
	w.WriteHeader(StatusOf(err))
	_, _ = io.WriteString(w, err.Error()) // ignore clients that are gone
}
