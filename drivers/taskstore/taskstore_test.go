package taskstore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"taskrun/drivers"
	"taskrun/drivers/taskstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type task struct{ *taskstore.Life }

func TestStore(t *testing.T) {
	t.Parallel()
	var s taskstore.Store[*task]
	five := &task{taskstore.NewLife("five")}
	start := func() (*task, error) { return five, nil }
	unknown := func(when string) {
		t.Helper()
		if _, err := s.Get("a"); !errors.Is(err, drivers.ErrTaskNotFound) {
			t.Errorf("%s the error is %v", when, err)
		}
	}
	unknown("at first")
	broken := errors.New("broken")
	if _, err := s.Start("a", func() (*task, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("the error of a failed start is %v", err)
	}
	unknown("after a failed start")
	_, err := s.Start("a", func() (*task, error) {
		unknown("while it starts")
		if _, err := s.Start("a", start); err == nil || err.Error() != `task with ID "a" already started` {
			t.Errorf("the second time the error is %v", err)
		}
		return start()
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get("a"); got != five || err != nil {
		t.Errorf("the task is %v, %v", got, err)
	}
	if _, err := s.Start("a", start); err == nil {
		t.Error("a task that has started was started again")
	}
	s.Remove("a")
	unknown("in the end")
	if _, err := s.Start("a", start); err != nil {
		t.Errorf("the ID is not free again: %v", err)
	}
}

func TestEndWakesAllWaiters(t *testing.T) {
	t.Parallel()
	e := taskstore.NewLife("task")
	at := time.Unix(1, 0)
	var wg sync.WaitGroup
	for range 10 {
		early := e.Wait(t.Context())
		wg.Go(func() {
			for _, ch := range []<-chan *drivers.ExitResult{early, e.Wait(t.Context())} {
				if result := <-ch; result == nil || result.ExitCode != 3 {
					t.Errorf("the result is %+v", result)
				} else {
					result.ExitCode = 4 // it belongs to the receiver
				}
			}
		})
	}
	e.Set(drivers.ExitResult{ExitCode: 3}, at)
	e.Set(drivers.ExitResult{ExitCode: 9}, at.Add(1))
	wg.Wait()
	var s taskstore.Store[*task]
	s.Put("a", &task{e})
	if status, err := s.InspectTask("a"); err != nil || status.State != drivers.TaskStateExited || !status.CompletedAt.Equal(at) || status.ExitResult.ExitCode != 3 {
		t.Errorf("the status is %+v, %v", status, err)
	}
}

func TestWaitCanceled(t *testing.T) {
	t.Parallel()
	e := taskstore.NewLife("task")
	ctx, cancel := context.WithCancel(t.Context())
	before := e.Wait(ctx)
	cancel()
	for _, ch := range []<-chan *drivers.ExitResult{before, e.Wait(ctx)} {
		if result, ok := <-ch; ok {
			t.Errorf("a canceled wait got %+v", result)
		}
	}
	e.Set(drivers.ExitResult{}, time.Now())
	if result := <-e.Wait(ctx); result == nil {
		t.Error("a wait after the end got nothing, though only its context had ended")
	}
}

// Commands run in tasks that run, and only ended tasks are destroyed without
// force. Of an unknown task everything is an error.
func TestTasksByState(t *testing.T) {
	t.Parallel()
	var s taskstore.Store[*task]
	runs, ended := &task{taskstore.NewLife("runs")}, &task{taskstore.NewLife("ended")}
	ended.Set(drivers.ExitResult{ExitCode: 3}, time.Unix(1, 0))
	s.Put("runs", runs)
	s.Put("ended", ended)
	for id, want := range map[string]struct {
		running, destroyable, forced, wait, inspect, sample string
	}{
		"runs":    {"", "cannot destroy running task", "", "", "", ""},
		"ended":   {`task "ended" is not running`, "", "", "", "", ""},
		"unknown": {"task not found", "task not found", "task not found", "task not found", "task not found", "task not found"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		_, running := s.Running(id)
		_, destroyable := s.Destroyable(id, false)
		_, forced := s.Destroyable(id, true)
		result, wait := s.WaitTask(ctx, id)
		_, inspect := s.InspectTask(id)
		samples, sample := s.Sample(ctx, id, time.Hour, func(*task) *drivers.TaskResourceUsage { return nil })
		for what, c := range map[string]struct {
			err  error
			want string
		}{
			"running": {running, want.running}, "destroyable": {destroyable, want.destroyable}, "forced": {forced, want.forced},
			"wait": {wait, want.wait}, "inspect": {inspect, want.inspect}, "sample": {sample, want.sample},
		} {
			if (c.err == nil) != (c.want == "") || c.err != nil && !strings.Contains(c.err.Error(), c.want) {
				t.Errorf("%s, %s: %v, want %q", id, what, c.err, c.want)
			}
		}
		cancel()
		if wait == nil {
			if r := <-result; (r != nil) != (id == "ended") || r != nil && r.ExitCode != 3 {
				t.Errorf("%s: the result is %+v", id, r)
			}
		}
		if sample == nil {
			<-samples // closed
		}
	}
	select {
	case <-runs.Done():
		t.Error("what runs is done")
	case <-ended.Done():
	}
}
