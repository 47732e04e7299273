package rest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A query that is blocking when the server ends gets the current data, and
// never randomly an error.
func TestBlockingQueryAtTheEndOfTheServer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrShutdown)
	wait := func(r *Request, after uint64, _ time.Duration) uint64 {
		<-r.Context().Done()
		return after
	}
	answers := NewAnswers()
	query := Read(wait, func(*Request) (any, error) { return "object", nil })
	for range 100 { // a random choice between the two would return at least one error
		w := httptest.NewRecorder()
		err := query(answers.Request(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/?index=7", nil), ""))
		if err != nil || w.Body.String() != `"object"` || w.Header().Get("X-Nomad-Index") != "7" {
			t.Fatalf("%v, %q at index %s", err, w.Body, w.Header().Get("X-Nomad-Index"))
		}
	}
	for range preparedAtOnce {
		answers.preparing <- struct{}{}
	}
	err := query(answers.Request(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/?index=7", nil), ""))
	if !errors.Is(err, ErrShutdown) {
		t.Errorf("when no answer can be put together: %v", err)
	}
}

// A query waits for as long as Nomad's would.
func TestWaitOfAQuery(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]time.Duration{
		"": 5 * time.Minute, "wait=0s": 5 * time.Minute, "wait=-3s": 5 * time.Minute, "wait=1h": 5 * time.Minute,
		"wait=1ns": 1, "wait=299s": 299 * time.Second,
	} {
		var got time.Duration
		wait := func(_ *Request, after uint64, limit time.Duration) uint64 { got = limit; return after }
		handle := Read(wait, func(*Request) (any, error) { return "object", nil })
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?index=7&"+query, nil)
		if err := handle(NewAnswers().Request(httptest.NewRecorder(), r, "")); err != nil || got != want {
			t.Errorf("%q: %v, %v", query, got, err)
		}
	}
}
