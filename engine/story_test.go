package engine_test

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// The fold of a subscriber equals the engine's state, and the history on disk
// contains what the subscriber has received.
func TestStateIsAFoldOfEvents(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				job := s.job()
				job.Canonicalize()
				jobs := []*api.Job{job}
				e := durable(newMachine(), t.TempDir())
				sub := e.Subscribe(false)
				if err := e.Submit(job); err != nil {
					t.Fatal(err)
				}
				run := e.Runs()[0]
				run.Lock.Close()
				for after, do := range s.actions {
					defer time.AfterFunc(after, func() { do(e) }).Stop()
				}
				if s.lasts > 0 {
					defer time.AfterFunc(s.lasts, e.Stop).Stop()
				}
				<-e.Done()
				if err := e.Close(context.Background()); err != nil {
					t.Error(err)
				}
				told, written := fold.New(jobs), fold.New(jobs)
				for ev, ok := sub.Next(context.Background()); ok; ev, ok = sub.Next(context.Background()) {
					told.Apply(ev)
					told.Forget(ev)
					if event.Kind(ev.Body) != "" && ev.Of("job") {
						line, err := ev.MarshalJSON()
						if err != nil {
							t.Fatal(err)
						}
						read, err := event.Parse(line)
						if err != nil {
							t.Fatal(err)
						}
						written.Apply(read)
					}
				}
				e.State().Look(func(now *fold.Run) {
					if !reflect.DeepEqual(now, told) {
						t.Error("a subscriber makes another state of what it is told")
					}
					if len(now.Evaluations) == 0 && !job.IsParameterized() || now.Version("job", 0) == nil {
						t.Errorf("evaluations %v", now.Evaluations)
					}
					for _, a := range now.Allocs {
						if a.Evaluation == "" || a.Created == 0 {
							t.Errorf("%s was placed by %q at %d", a.Name, a.Evaluation, a.Created)
						}
					}
				})
				if got := fold.New(jobs, eventsOf(t, run)...); !reflect.DeepEqual(got, written) {
					t.Error("what is on disk makes another state")
				}
			})
		})
	}
}

// eventsOf reads the history of a run.
func eventsOf(t *testing.T, run engine.Run) (events []event.Event) {
	t.Helper()
	file, err := os.Open(filepath.Join(run.Dir, "events.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		e, err := event.Parse(lines.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}
