package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/engine"
)

// TestJobsBeyondTheFilesOfTheProcessAreRefused has files for two jobs of one
// task.
func TestJobsBeyondTheFilesOfTheProcessAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		e := resident(t, newMachine(), dir)
		defer closeEngine(t, e)
		engine.LimitFiles(e, 20)
		order := func(id string, count int) error {
			job := newJob("service", newTask("t", "run_for", "24h"))
			job.TaskGroups[0].Count = &count
			_, err := e.Register(engine.Registration{Job: named(id, job)})
			<-time.After(time.Minute)
			return err
		}
		refused := func(what string, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), "open files") {
				t.Errorf("%s: %v", what, err)
			}
		}
		for _, id := range []string{"a", "b", "b"} {
			if err := order(id, 1); err != nil {
				t.Fatal(err)
			}
		}
		refused("a third job", order("c", 1))
		refused("a higher count", order("a", 2))
		_, err := e.Handle("a").Scale(engine.Scaling{Group: "g", Count: new(int64(2))})
		refused("a scaling", err)
		if left, err := os.ReadDir(filepath.Join(dir, "jobs")); err != nil || len(left) != 2 {
			t.Errorf("directories of jobs: %v, %v", left, err)
		}
		deregister(t, e, "a", false)
		<-time.After(time.Minute)
		if err := order("c", 1); err != nil {
			t.Errorf("the files of a stopped job stay taken: %v", err)
		}
	})
}
