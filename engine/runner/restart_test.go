package runner_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/runner"
	"taskrun/hooks"
)

// named returns a task that runs for an hour by default.
func named(name, runFor string, lifecycle *api.TaskLifecycle) *api.Task {
	t := mockTask(map[string]any{"run_for": runFor}, 0)
	t.Name, t.Lifecycle = name, lifecycle
	return t
}

// renew creates the allocation again, with other tasks and the changed config.
func (s *setting) renew(tasks ...*api.Task) {
	s.config.Group.Tasks = tasks
	s.config.Job.Canonicalize()
	s.alloc = runner.New(s.config)
}

// run runs the allocation until hard ends, and returns its result.
func (s *setting) run(hard context.Context) <-chan runner.Result {
	result := make(chan runner.Result, 1)
	go func() { result <- s.alloc.Run(hard) }()
	return result
}

// told returns all task events so far, as "TASK TYPE".
func (s *setting) told() (lines []string) {
	for s.events.Ready() {
		e, ok := s.events.Next(context.Background())
		if !ok {
			break
		}
		if te, ok := e.Body.(event.TaskEvent); ok {
			lines = append(lines, e.Task+" "+te.Type)
		}
	}
	return lines
}

// of returns the lines about one task.
func of(lines []string, task string) (what []string) {
	for _, line := range lines {
		if text, ok := strings.CutPrefix(line, task+" "); ok {
			what = append(what, text)
		}
	}
	return what
}

// after is a task hook that waits after each start of its task.
type after struct {
	task string
	wait func(context.Context)
}

func (after) Name() string { return "after" }
func (h after) Poststart(ctx context.Context, _ *hooks.PoststartRequest) error {
	h.wait(ctx)
	return nil
}

func (h after) factory(info hooks.Task) hooks.TaskHook {
	if info.Task.Name != h.task {
		return nil
	}
	return h
}

// holding is an allocation whose tasks are all restarting. The task "late" has
// not reported it yet: it is blocked in its start, or was killed before.
type holding struct {
	*setting
	kill    context.CancelFunc // hard
	release func()
	cancel  context.CancelCauseFunc // of the order
	ordered chan error              // receives the answer to the order
	result  <-chan runner.Result
}

func newHolding(t *testing.T) *holding {
	t.Helper()
	s := newSetting(t, mockTask(nil, 0), nil)
	released := make(chan struct{})
	late := after{"late", func(ctx context.Context) {
		select {
		case <-released:
		case <-ctx.Done():
		}
	}}
	s.config.Hooks.Task = append(s.config.Hooks.Task, late.factory)
	s.renew(named("first", "1h", nil), named("late", "1h", nil))
	h := &holding{setting: s, release: sync.OnceFunc(func() { close(released) }), ordered: make(chan error, 1)}
	var hard, order context.Context
	hard, h.kill = context.WithCancel(context.WithoutCancel(t.Context()))
	order, h.cancel = context.WithCancelCause(t.Context())
	h.result = s.run(hard)
	synctest.Wait()
	go func() { h.ordered <- s.alloc.Restart(order, true) }()
	synctest.Wait()
	if got := h.told(); got[len(got)-1] != "first "+api.TaskRestartSignal || h.alloc.State().Tasks["first"].State != "running" {
		t.Fatalf("the first task does not hold: %q", got)
	}
	return h
}

// No task stops before the last one has reported its restart. Meanwhile a waiting
// task accepts no other order to restart. If the last task or the order never
// comes, the others continue.
func TestRestartOfAllHolds(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		do     func(*holding)
		order  string // its error
		first  []string
		silent bool // the last task has reported nothing yet
		ends   string
	}{
		"until all have told": {
			do:    func(h *holding) { h.release() },
			first: []string{api.TaskTerminated, api.TaskRestarting, api.TaskStarted},
		},
		"until the order is given up": {
			do:    func(h *holding) { h.cancel(broken) },
			order: "failed to restart task first: broken\nfailed to restart task late: broken", silent: true,
			first: []string{api.TaskTerminated, api.TaskRestarting}, // all start together
		},
		"until it is stopped": {
			do: func(h *holding) { h.alloc.Stop() }, ends: api.AllocClientStatusComplete,
			first: []string{api.TaskKilling, api.TaskTerminated, api.TaskKilled},
		},
		"until it is killed": {
			do: func(h *holding) { h.kill() }, ends: api.AllocClientStatusComplete,
			first: []string{api.TaskKilling, api.TaskTerminated, api.TaskKilled},
		},
		"until the engine leaves": {
			do: func(h *holding) { h.alloc.Leave() }, silent: true,
			first: []string{api.TaskTerminated, api.TaskRestarting},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHolding(t)
				if err := h.alloc.RestartTask(t.Context(), "first", "", false); !errors.Is(err, runner.ErrTaskNotRunning) {
					t.Errorf("a second order: %v", err)
				}
				tt.do(h)
				synctest.Wait()
				pass(time.Nanosecond) // a restart has no delay
				synctest.Wait()
				lines := h.told()
				first, late := of(lines, "first"), of(lines, "late")
				if !slices.Equal(first, tt.first) {
					t.Errorf("the first task: %q, want %q", first, tt.first)
				}
				if tt.silent != (len(late) == 0) {
					t.Errorf("the last task: %q", late)
				}
				h.release()
				var said string
				if err := <-h.ordered; err != nil {
					said = err.Error()
				}
				if said != tt.order {
					t.Errorf("the order: %q, want %q", said, tt.order)
				}
				if tt.ends == "" {
					h.alloc.Stop()
				}
				if result := <-h.result; tt.ends != "" && result.Status != tt.ends {
					t.Errorf("it ended %s", result.Status)
				}
				pass(2 * time.Hour) // the end of a task that was left
			})
		})
	}
}

// A task that has ended reports its new start before the running ones stop.
func TestRestartOfAllRevivesFirst(t *testing.T) {
	t.Parallel()
	for range 20 { // the order would be random
		synctest.Test(t, func(t *testing.T) {
			s := newSetting(t, mockTask(nil, 0), nil)
			s.renew(named("init", "1s", &api.TaskLifecycle{Hook: api.TaskLifecycleHookPrestart}), named("main", "1h", nil))
			result := s.run(t.Context())
			pass(time.Minute)
			s.told()
			if err := s.alloc.Restart(t.Context(), true); err != nil {
				t.Error(err)
			}
			pass(time.Minute)
			lines := s.told()
			if want := []string{api.TaskRestartSignal, api.TaskRestarting, api.TaskStarted, api.TaskTerminated}; !slices.Equal(of(lines, "init"), want) {
				t.Errorf("the task that had ended: %q", of(lines, "init"))
			}
			if want := []string{api.TaskRestartSignal, api.TaskTerminated, api.TaskRestarting, api.TaskStarted}; !slices.Equal(of(lines, "main"), want) {
				t.Errorf("the task that ran: %q", of(lines, "main"))
			}
			if slices.Index(lines, "init "+api.TaskRestarting) > slices.Index(lines, "main "+api.TaskTerminated) {
				t.Errorf("the one that ran stopped first: %q", lines)
			}
			s.alloc.Stop()
			<-result
		})
	}
}

// Concurrent orders do not wait for each other, whatever else ends the
// allocation meanwhile.
func TestRestartsOfAllAtOnce(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*runner.Alloc){"stop": (*runner.Alloc).Stop, "leave": (*runner.Alloc).Leave} {
		for range 20 { // the order in which tasks receive the orders is random
			synctest.Test(t, func(t *testing.T) {
				s := newSetting(t, mockTask(nil, 0), nil)
				s.renew(named("init", "1s", &api.TaskLifecycle{Hook: api.TaskLifecycleHookPrestart}), named("a", "1h", nil), named("b", "1h", nil))
				result := s.run(t.Context())
				pass(time.Minute)
				var orders sync.WaitGroup
				restart := func() {
					for range 3 {
						orders.Go(func() {
							if err := s.alloc.Restart(t.Context(), true); err != nil && !errors.Is(err, runner.ErrAllocEnded) {
								t.Errorf("%s: %v", name, err)
							}
						})
					}
				}
				restart()
				orders.Wait()
				pass(time.Minute)
				for name, task := range s.alloc.State().Tasks {
					if want := map[bool]string{true: "dead", false: "running"}[name == "init"]; task.State != want || task.Restarts == 0 {
						t.Errorf("task %s is %s after %d restarts", name, task.State, task.Restarts)
					}
				}
				restart()
				end(s.alloc)
				orders.Wait()
				<-result
				pass(2 * time.Hour) // the end of tasks that were left
			})
		}
	}
}

// An order to restart a task returns when the task is given up.
func TestRestartOfAGivenUpTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer synctest.Wait() // until all have returned
		defer close(release)
		s := newSetting(t, mockTask(map[string]any{"run_for": "1h"}, 0), nil)
		s.config.Drivers["mock_driver"] = stuckDriver{s.driver, stuck{"the stop of the task", release}}
		s.alloc = runner.New(s.config)
		hard, kill := context.WithCancel(t.Context())
		result := s.run(hard)
		synctest.Wait()
		answer := make(chan error, 1)
		go func() { answer <- s.alloc.RestartTask(context.WithoutCancel(t.Context()), "t", "", false) }()
		synctest.Wait()
		kill()
		<-result
		if err := <-answer; !errors.Is(err, runner.ErrTaskNotRunning) {
			t.Errorf("the answer is %v", err)
		}
	})
}
