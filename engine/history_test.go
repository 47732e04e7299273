package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	"taskrun/engine/leaf/event"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// A run whose history cannot be written says so when it ends.
func TestHistoryIsNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		job := newJob("batch", newTask("t", "run_for", "1s"))
		job.Canonicalize()
		e := engine.New(engine.Config{
			DataDir: t.TempDir(), Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
			Hooks: hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{},
			OnRun: func(dir string) {
				if err := os.Mkdir(filepath.Join(dir, "events.json"), 0o700); err != nil { // where a file belongs
					t.Error(err)
				}
			},
		})
		sub := e.Subscribe(true)
		if err := e.Submit(job); err != nil {
			t.Fatal(err)
		}
		<-e.Done()
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
		want := `job "` + *job.ID + `": cannot keep the history of the run: `
		for {
			ev, ok := sub.Next(context.Background())
			if !ok {
				t.Fatalf("no notice begins with %q", want)
			}
			if notice, ok := ev.Body.(event.Notice); ok && strings.HasPrefix(notice.Text, want) {
				return
			}
		}
	})
}
