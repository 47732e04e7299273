package runner_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An allocation that is told to skip shutdown_delay waits for none, also if it
// is already waiting.
func TestSkipShutdownDelay(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]time.Duration{"at once": 0, "while it waits": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				task := mockTask(map[string]any{"run_for": "24h"}, 0)
				task.ShutdownDelay = time.Hour
				s := newSetting(t, task, nil)
				s.config.Group.ShutdownDelay = new(time.Hour)
				done := make(chan struct{})
				go func() { defer close(done); s.alloc.Run(t.Context()) }()
				synctest.Wait()
				began := time.Now()
				if before == 0 {
					s.alloc.SkipShutdownDelay()
				}
				s.alloc.Stop()
				<-time.After(before)
				s.alloc.SkipShutdownDelay()
				<-done
				if took := time.Since(began); took < before || took > before+time.Minute {
					t.Errorf("it stopped after %v", took)
				}
				if events := s.taskEvents(); !slices.Contains(events, "Skipping shutdown_delay of 1h0m0s before killing the task.") {
					t.Errorf("%q", events)
				}
			})
		})
	}
}

// A task gets its kill signal after its shutdown_delay, unless it ends before
// that, or there is no time left.
func TestShutdownDelay(t *testing.T) {
	t.Parallel()
	const waiting, skipping = "Waiting for shutdown_delay of 1m0s before killing the task.", "Skipping shutdown_delay of 1m0s before killing the task."
	for name, tt := range map[string]struct {
		runFor string
		delay  time.Duration
		hard   time.Duration // the engine kills after that; negative: not
		took   time.Duration
		said   string
	}{
		"all of it":               {"24h", time.Minute, -1, time.Minute, waiting},
		"until the task ends":     {"30s", time.Minute, -1, 30 * time.Second, waiting},
		"until there is no time":  {"24h", time.Minute, 10 * time.Second, 10 * time.Second, waiting},
		"there is no time at all": {"24h", time.Minute, 0, 0, skipping},
		"no delay":                {"24h", 0, -1, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				task := mockTask(map[string]any{"run_for": tt.runFor}, 0)
				task.ShutdownDelay = tt.delay
				s := newSetting(t, task, nil)
				ctx, kill := context.WithCancel(t.Context())
				defer kill()
				done := make(chan struct{})
				go func() { defer close(done); s.alloc.Run(ctx) }()
				synctest.Wait()
				began := time.Now()
				switch {
				case tt.hard < 0:
					s.alloc.Stop()
				case tt.hard == 0:
					kill()
				default:
					s.alloc.Stop()
					pass(tt.hard)
					kill()
				}
				<-done
				if took := time.Since(began); took != tt.took {
					t.Errorf("it ended after %v, want %v", took, tt.took)
				}
				events := slices.DeleteFunc(s.taskEvents(), func(text string) bool { return !strings.Contains(text, "shutdown_delay") })
				if got := strings.Join(events, "\n"); got != tt.said {
					t.Errorf("it said %q, want %q", got, tt.said)
				}
			})
		})
	}
}
