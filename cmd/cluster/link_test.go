package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"taskrun/cmd/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errUnreachable = errors.New("connection refused")

func TestBrokenLink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fails func(since time.Duration) error // nil: it answers
		err   string                          // why it gives up; empty: it does not
		says  []string
		took  time.Duration
	}{
		{"for a moment", func(since time.Duration) error {
			if since < time.Second {
				return errUnreachable
			}
			return nil
		}, "", nil, 1500 * time.Millisecond},
		{"for a minute", func(since time.Duration) error {
			if since < time.Minute {
				return errUnreachable
			}
			return nil
		}, "", []string{"connection refused; trying again", "the cluster answers again, after 1m"}, 60500 * time.Millisecond},
		{"for good", func(time.Duration) error { return errUnreachable }, "gave up after 5m0s", []string{"trying again"}, 300500 * time.Millisecond},
		{"never, for it refuses", func(time.Duration) error { return &client.RefusedError{Code: 403, Text: "Permission denied"} }, "Permission denied", nil, 0},
		{"and has too much to do", func(since time.Duration) error {
			if since == 0 {
				return &client.RefusedError{Code: 429, Text: "Too many"}
			}
			return nil
		}, "", nil, 500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var said []string
				l := link{say: func(text string) { said = append(said, text) }}
				begin := time.Now()
				err := l.follow(t.Context(), func(uint64) (uint64, bool, error) {
					err := c.fails(time.Since(begin))
					return 1, err == nil, err
				})
				if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				if took := time.Since(begin); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if len(said) != len(c.says) {
					t.Fatalf("said %q", said)
				}
				for i := range said {
					if !strings.Contains(said[i], c.says[i]) {
						t.Errorf("said %q, want %q", said[i], c.says[i])
					}
				}
			})
		})
	}
}

// A server that does not wait is not queried without pauses, and a restored one
// is queried from the start.
func TestIndexOfQueries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers, asked := []uint64{7, 7, 9, 3, 5}, []uint64{}
		l := link{say: func(string) {}}
		begin := time.Now()
		err := l.follow(context.Background(), func(after uint64) (uint64, bool, error) {
			asked = append(asked, after)
			return answers[len(asked)-1], len(asked) == len(answers), nil
		})
		if want := []uint64{0, 7, 7, 9, 0}; err != nil || !slices.Equal(asked, want) {
			t.Errorf("asked with %v, want %v; %v", asked, want, err)
		}
		if took := time.Since(begin); took != 2*idlePause {
			t.Errorf("took %v", took)
		}
	})
}
