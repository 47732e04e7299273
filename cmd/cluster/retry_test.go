package cluster

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
)

// A refused request is sent once; a failed one is repeated.
func TestRepeatedRequests(t *testing.T) {
	t.Parallel()
	for code, again := range map[int]bool{400: false, 404: false, 428: false, 429: true, 499: false, 500: true, 501: true, 503: true} {
		synctest.Test(t, func(t *testing.T) {
			l, asked := link{say: func(string) {}}, 0
			err := l.follow(t.Context(), func(uint64) (uint64, bool, error) {
				if asked++; asked == 1 {
					return 0, false, &client.RefusedError{Code: code, Text: "no"}
				}
				return 1, true, nil
			})
			if (err == nil) != again || (asked == 2) != again {
				t.Errorf("%d: asked %d times, error %v", code, asked, err)
			}
		})
	}
}

// The pauses between queries grow up to a limit, and start again after an
// answer. So does the index, because another server may have other indexes.
func TestPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const failures = 8
		l, began := link{say: func(string) {}}, time.Now()
		var pauses []time.Duration
		var indexes []uint64
		n := 0
		err := l.follow(t.Context(), func(index uint64) (uint64, bool, error) {
			pauses, indexes = append(pauses, time.Since(began)), append(indexes, index)
			began = time.Now()
			switch n++; {
			case n == 1:
				return 7, false, nil
			case n <= 1+failures, n == 3+failures:
				return 0, false, errUnreachable
			}
			return 9, n > 3+failures, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s := time.Second
		want := []time.Duration{0, 0, s / 2, s, 2 * s, 4 * s, 8 * s, maxPause, maxPause, maxPause, 0, s / 2}
		if !slices.Equal(pauses, want) {
			t.Errorf("pauses %v, want %v", pauses, want)
		}
		if want := []uint64{0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0}; !slices.Equal(indexes, want) {
			t.Errorf("indexes %v, want %v", indexes, want)
		}
	})
}

// Nothing is requested after the end of the context, during any pause.
func TestNoQuestionAfterTheEnd(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	for name, answer := range map[string]error{"after a failure": errUnreachable, "after an answer": nil} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, enough)
			defer cancel()
			l, began, asked := link{say: func(string) {}}, time.Now(), 0
			err := l.follow(ctx, func(uint64) (uint64, bool, error) {
				if asked++; asked > 2 {
					return 0, true, nil
				}
				return 1, false, answer
			})
			want := 1
			if answer == nil {
				want = 2 // the second one gets the same index
			}
			if !errors.Is(err, enough) || asked != want || time.Since(began) != 100*time.Millisecond {
				t.Errorf("%s: asked %d times in %v, error %v", name, asked, time.Since(began), err)
			}
		})
	}
}

// An order to stop is repeated until the cluster accepts or refuses it.
func TestStopIsRepeated(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		code  int
		asked int
		err   string
	}{
		"at once": {0, 1, ""}, "without a leader": {http.StatusInternalServerError, 3, ""},
		"forbidden": {http.StatusForbidden, 1, `cannot stop job "web" of : it answered 403: no`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newFakeCluster()
				w.set(map[string]any{"job/web": api.JobDeregisterResponse{}})
				w.refused["/v1/job/web"] = tt.code
				time.AfterFunc(firstPause+2*firstPause-time.Millisecond, func() {
					w.mu.Lock()
					defer w.mu.Unlock()
					delete(w.refused, "/v1/job/web")
				})
				err := New([]Job{{Job: job("service"), Server: w.server(t)}}).Stop(t.Context(), false)
				if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
					t.Errorf("error %v, want %s", err, tt.err)
				}
				if len(w.asked) != tt.asked {
					t.Errorf("asked %q", w.asked)
				}
			})
		})
	}
}
