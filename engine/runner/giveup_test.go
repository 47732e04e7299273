package runner_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/runner"
	"taskrun/hooks"
)

// stuck is a hook, of tasks or of the allocation, that does not return from one
// phase until it is released, even if its context ends.
type stuck struct {
	phase   string
	release <-chan struct{}
}

func (s stuck) in(phase string) {
	if s.phase == phase {
		<-s.release
	}
}

func (s stuck) Name() string { return "stuck" }

type stuckTaskHook struct{ stuck }

func (s stuckTaskHook) Prestart(context.Context, *hooks.PrestartRequest, *hooks.PrestartResponse) error {
	s.in("prestart")
	return nil
}

func (s stuckTaskHook) Poststart(context.Context, *hooks.PoststartRequest) error {
	s.in("poststart")
	return nil
}
func (s stuckTaskHook) Prekill(context.Context) error { s.in("prekill"); return nil }
func (s stuckTaskHook) Exited(context.Context) error  { s.in("exited"); return nil }
func (s stuckTaskHook) Stop(context.Context) error    { s.in("stop"); return nil }

type stuckAllocHook struct{ stuck }

func (s stuckAllocHook) Prerun(context.Context) error  { s.in("prerun of the allocation"); return nil }
func (s stuckAllocHook) Prekill(context.Context)       { s.in("prekill of the allocation") }
func (s stuckAllocHook) Postrun(context.Context) error { s.in("postrun of the allocation"); return nil }

// stuckDriver is a driver that does not return.
type stuckDriver struct {
	drivers.Driver
	stuck
}

func (s stuckDriver) StartTask(ctx context.Context, cfg *drivers.TaskConfig) (*drivers.TaskHandle, *drivers.Network, error) {
	s.in("the start of the task")
	return s.Driver.StartTask(ctx, cfg)
}

func (s stuckDriver) StopTask(ctx context.Context, id string, timeout time.Duration, signal string) error {
	s.in("the stop of the task")
	return s.Driver.StopTask(ctx, id, timeout, signal)
}

func (s stuckDriver) DestroyTask(id string, force bool) error {
	s.in("the removal of the task")
	return s.Driver.DestroyTask(id, force)
}

// TestStuckHooksDoNotBlockTheAllocation uses a hook or driver that never
// returns, in each phase: after a stop the tasks' hooks are given up, and after
// a kill everything is.
func TestStuckHooksDoNotBlockTheAllocation(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		phase   string
		stopped bool // it ends after a stop
	}{
		{"prestart", true},
		{"poststart", true},
		{"prekill", true},
		{"exited", true},
		{"stop", true},
		{"prerun of the allocation", false},
		{"prekill of the allocation", false},
		{"postrun of the allocation", false},
		{"the start of the task", false},
		{"the stop of the task", false},
		{"the removal of the task", false},
	} {
		t.Run(tt.phase, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer synctest.Wait() // until all have returned
				defer close(release)
				s := newSetting(t, mockTask(map[string]any{"run_for": "10h"}, 0), nil, &recorder{name: "a"})
				block := stuck{tt.phase, release}
				s.config.Hooks.Alloc = append(s.config.Hooks.Alloc, func(hooks.Alloc) hooks.AllocHook { return stuckAllocHook{block} })
				s.config.Hooks.Task = append(s.config.Hooks.Task, func(hooks.Task) hooks.TaskHook { return stuckTaskHook{block} })
				s.config.Drivers = map[string]drivers.Driver{"mock_driver": stuckDriver{s.driver, block}}
				s.alloc = runner.New(s.config)

				hard, kill := context.WithCancel(t.Context())
				defer kill()
				ended := make(chan runner.Result, 1)
				go func() { ended <- s.alloc.Run(hard) }()
				pass(time.Minute)
				s.alloc.Stop()
				begin := time.Now()
				var result runner.Result
				select {
				case result = <-ended:
					if !tt.stopped {
						t.Error("it ended before it was killed")
					}
				case <-time.After(time.Minute):
					if tt.stopped {
						t.Error("it did not end when it was stopped")
					}
					begin = time.Now()
					kill()
					select {
					case result = <-ended:
					case <-time.After(time.Minute):
						t.Fatal("it did not end when it was killed")
					}
				}
				if took := time.Since(begin); took != 5*time.Second {
					t.Errorf("it took %v", took)
				}
				if result.Status == "" || s.alloc.State().Tasks["t"].State != "dead" {
					t.Errorf("the allocation is %q, the task %q", result.Status, s.alloc.State().Tasks["t"].State)
				}
				if said := s.said(); !slices.ContainsFunc(said, func(text string) bool { return strings.Contains(text, "has not returned 5s after the kill") }) {
					t.Errorf("nothing was said of it: %q", said)
				}
			})
		})
	}
}

// said returns the texts of all task events and notices so far.
func (s *setting) said() (texts []string) {
	for s.events.Ready() {
		e, ok := s.events.Next(context.Background())
		if !ok {
			break
		}
		switch body := e.Body.(type) {
		case event.TaskEvent:
			texts = append(texts, body.DisplayMessage)
		case event.Notice:
			texts = append(texts, body.Text)
		}
	}
	return texts
}
