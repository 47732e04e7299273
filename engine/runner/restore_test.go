package runner_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/drivers/mock"
	"taskrun/engine/runner"
	"taskrun/engine/store"
)

// An allocation with an unreadable record fails, and says why; it never runs as
// if there were no record.
func TestUnreadableRecords(t *testing.T) {
	t.Parallel()
	object := map[string]any{}
	stored := func(status string) map[string]any {
		return map[string]any{"alloc": map[string]any{"status": status}, "task": object, "hooks": object, "start": object, "handle": object}
	}
	for kind, value := range map[string]any{
		"task": "text", "hooks": "text", "start": "text", "handle": "text",
		"start without a config": nil,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newSetting(t, mockTask(map[string]any{"run_for": "1s"}, 0), nil)
			records := stored("running")
			if kind == "hooks" { // whatever it was
				records = stored("failed")
			}
			if records["start"] = map[string]any{"Config": map[string]any{"value": "x", "type": "string"}}; value != nil {
				records[kind] = value
			} else {
				records["start"] = map[string]any{"Config": 5}
			}
			var first store.Change
			for kind, value := range records {
				parts := []string{kind, s.config.Alloc.ID}
				if kind != "alloc" {
					parts = append(parts, "t")
				}
				first.Put(store.KeyOf(parts...), value)
			}
			rec, err := store.Create(&s.bus, t.TempDir(), first)
			if err != nil {
				t.Fatal(err)
			}
			defer rec.Close()
			s.config.Recorder = rec
			s.alloc = runner.Restore(s.config)
			result := s.alloc.Run(t.Context())
			const want = "Unable to add allocation due to error: "
			if result.Status != "failed" || !strings.HasPrefix(s.alloc.State().Description, want) {
				t.Errorf("%s: %s", result.Status, s.alloc.State().Description)
			}
			if strings.Contains(strings.Join(s.taskEvents(), "\n"), "Task started") {
				t.Error("the task was started")
			}
		})
	}
}

// An engine dies before anything of a task is stored. The task is pending, and starts.
func TestNoRecordOfATask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, mockTask(map[string]any{"run_for": "1h"}, 0), nil)
		var first store.Change
		first.Put(store.KeyOf("alloc", s.config.Alloc.ID), map[string]any{"status": "pending"})
		rec, err := store.Create(&s.bus, t.TempDir(), first)
		if err != nil {
			t.Fatal(err)
		}
		defer rec.Close()
		s.config.Recorder = rec
		s.alloc = runner.Restore(s.config)
		if got := s.alloc.State().Tasks["t"].State; got != "pending" || s.alloc.Over() {
			t.Errorf("it is %q", got)
		}
		result := s.run(t.Context())
		pass(time.Minute)
		s.want(t, "run", map[string]string{"t": "running"})
		s.alloc.Stop()
		<-result
	})
}

// An engine dies as soon as the restart of all tasks is stored, before any task
// has heard of it. They restart under the next engine.
func TestDeathBeforeTasksHearOfARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, dir := newSetting(t, mockTask(map[string]any{"run_for": "1h"}, 0), nil), t.TempDir()
		first, err := store.Create(&s.bus, dir, store.Change{})
		if err != nil {
			t.Fatal(err)
		}
		s.config.Recorder = first
		s.alloc = runner.New(s.config)
		result := s.run(t.Context())
		synctest.Wait()
		points := 0
		first.HaltWhen(func() bool { points++; return points > 1 }) // after one record
		if err := s.alloc.Restart(t.Context(), true); err != nil || points < 2 {
			t.Errorf("%v, %d points", err, points)
		}
		synctest.Wait()
		s.alloc.Leave()
		<-result
		s.taskEvents()

		second, err := store.Open(&s.bus, dir)
		if err != nil {
			t.Fatal(err)
		}
		s.driver = mock.New() // the task continues as it did when the engine died
		s.config.Recorder, s.config.Drivers["mock_driver"] = second, s.driver
		s.alloc = runner.Restore(s.config)
		result = s.run(t.Context())
		pass(time.Minute)
		got := s.taskEvents()
		got = slices.DeleteFunc(got, func(text string) bool { return strings.HasPrefix(text, "Exit Code: ") })
		want := []string{"User requested all tasks to restart", "Task restarting in 0s", "Task started by client"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if state := s.alloc.State(); state.Status != "running" || state.Tasks["t"].Restarts != 1 {
			t.Errorf("%s, %d restarts", state.Status, state.Tasks["t"].Restarts)
		}
		s.alloc.Stop()
		<-result
		pass(time.Hour) // until the first driver's task ends by itself
		for _, r := range []*store.Recorder{first, second} {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
