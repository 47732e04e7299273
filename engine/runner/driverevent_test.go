package runner_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/drivers"
	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
	"taskrun/engine/runner"
	"taskrun/engine/store"
	"taskrun/hooks"
)

// A driver's event becomes an event of its task, with its time and error;
// events about unknown tasks are dropped.
func TestDriverEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, mockTask(map[string]any{"run_for": "1h"}, 0), nil)
		done := make(chan struct{})
		go func() { defer close(done); s.alloc.Run(t.Context()) }()
		synctest.Wait()
		s.taskEvents()
		at, failure := time.Now().Add(-time.Hour), errors.New("no such image")
		annotations := map[string]string{"image": "busybox"}
		for _, e := range []drivers.TaskEvent{
			{TaskName: "t", Message: "Downloading", Timestamp: at, Annotations: annotations},
			{TaskName: "t", Message: "Failed", Err: failure, Annotations: annotations},
			{TaskName: "t", Message: "Failed: no such image", Err: failure},
			{TaskName: "nope", Message: "nothing"},
		} {
			s.alloc.DriverEvent(e)
		}
		synctest.Wait()
		events := s.alloc.State().Tasks["t"].Events
		events = events[len(events)-3:]
		var texts []string
		for _, e := range events {
			texts = append(texts, e.DisplayMessage)
		}
		if want := []string{"Downloading", "Failed: no such image", "Failed: no such image"}; !slices.Equal(texts, want) {
			t.Errorf("events %q, want %q", texts, want)
		}
		if events[0].Time != at.UnixNano() || events[1].Time != time.Now().UnixNano() {
			t.Errorf("they are of %v and %v", time.Unix(0, events[0].Time), time.Unix(0, events[1].Time))
		}
		if events[0].Details["image"] != "busybox" || events[0].Details["driver_error"] != "" {
			t.Errorf("details %v", events[0].Details)
		}
		for _, e := range events[1:] {
			if e.Details["driver_error"] != failure.Error() {
				t.Errorf("details %v", e.Details)
			}
		}
		if len(annotations) != 1 {
			t.Errorf("the driver's own annotations are %v now", annotations)
		}
		if told := s.taskEvents(); len(told) != 3 {
			t.Errorf("told are %q", told)
		}
		s.alloc.Stop()
		<-done
	})
}

// A hook restarts one task, or all running ones, because of a failure, which
// counts against the restart policy.
func TestRestartByAHook(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"t", ""} {
		synctest.Test(t, func(t *testing.T) {
			s := newSetting(t, mockTask(map[string]any{"run_for": "1h"}, 1), nil)
			other := mockTask(map[string]any{"run_for": "1h"}, 1)
			other.Name = "other"
			s.config.Group.Tasks = append(s.config.Group.Tasks, other)
			s.config.Job.Canonicalize()
			var info hooks.Alloc
			s.config.Hooks.Alloc = append(s.config.Hooks.Alloc, func(a hooks.Alloc) hooks.AllocHook {
				info = a
				return nil
			})
			s.alloc = runner.New(s.config)
			done := make(chan runner.Result, 1)
			go func() { done <- s.alloc.Run(context.WithoutCancel(t.Context())) }()
			synctest.Wait()
			if err := info.Restart(t.Context(), name, "check is unhealthy"); err != nil {
				t.Error(err)
			}
			pass(10 * time.Second)
			state := s.alloc.State().Tasks
			want := uint64(0)
			if name == "" {
				want = 1
			}
			if state["t"].Restarts != 1 || state["other"].Restarts != want {
				t.Errorf("restart of %q: %d and %d restarts", name, state["t"].Restarts, state["other"].Restarts)
			}
			if !strings.Contains(strings.Join(s.taskEvents(), "\n"), "check is unhealthy") {
				t.Error("the reason is not told")
			}
			// The second restart exceeds the attempts.
			_ = info.Restart(t.Context(), name, "check is unhealthy")
			if result := <-done; result.Status != "failed" {
				t.Errorf("after the second restart it is %s", result.Status)
			}
		})
	}
}

// A restored allocation that had ended reports its verdict again, if there was
// one, and does nothing else.
func TestVerdictOfAnEndedAllocation(t *testing.T) {
	t.Parallel()
	for _, verdict := range []health.Verdict{health.Unknown, health.Healthy, health.Unhealthy} {
		s := newSetting(t, mockTask(map[string]any{"run_for": "1s"}, 0), nil)
		var first store.Change
		first.Put(store.KeyOf("alloc", s.config.Alloc.ID), map[string]any{"status": "complete", "over": true, "health": verdict, "deployment": s.config.Deployment})
		rec, err := store.Create(&s.bus, t.TempDir(), first)
		if err != nil {
			t.Fatal(err)
		}
		defer rec.Close()
		var told []health.Verdict
		s.config.Recorder = rec
		s.config.OnVerdict = func(v health.Verdict) { told = append(told, v) }
		result := runner.Restore(s.config).Run(t.Context())
		var want []health.Verdict
		if verdict != health.Unknown {
			want = []health.Verdict{verdict}
		}
		if result.Status != "complete" || !slices.Equal(told, want) {
			t.Errorf("%s, told %v, want %v", result.Status, told, want)
		}
		for s.events.Ready() {
			if e, ok := s.events.Next(t.Context()); ok {
				if _, isEvent := e.Body.(event.TaskEvent); isEvent {
					t.Errorf("an event of a task: %+v", e.Body)
				}
			}
		}
	}
}
