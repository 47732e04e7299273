package rest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A query that blocks when the server ends is answered with what there is, and
// never by chance with an error.
func TestBlockingQueryAtTheEndOfTheServer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrShutdown)
	wait := func(ctx context.Context, _ string, after uint64, _ time.Duration) uint64 {
		<-ctx.Done()
		return after
	}
	answers := NewAnswers()
	query := Read(wait, func(*Request) (any, error) { return "object", nil })
	for range 100 { // with a choice between the two, at least one would be an error
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
