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
