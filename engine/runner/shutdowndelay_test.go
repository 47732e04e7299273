package runner_test

import (
	"slices"
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
