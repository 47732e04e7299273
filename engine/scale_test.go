package engine_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
)

// Orders to scale are kept as events, newest first, including those that change
// nothing, but not refused ones.
func TestScalingEvents(t *testing.T) {
	t.Parallel()
	job := service(1, "a")
	job.TaskGroups = append(job.TaskGroups, api.NewTaskGroup("other", 1))
	job.TaskGroups[1].Tasks = []*api.Task{newTask("t", "run_for", "100h")}
	watched(t, job, map[time.Duration]func(*engine.Engine){
		time.Hour: func(e *engine.Engine) {
			at := uint64(time.Now().UnixNano()) //nolint:gosec // after 1970
			meta := map[string]any{"by": "hand"}
			for _, c := range []struct {
				order   engine.Scaling
				planned bool
			}{
				{engine.Scaling{Group: "g", Message: "looked", Meta: meta}, false},
				{engine.Scaling{Group: "g", Message: "no metrics", Error: true}, false},
				{engine.Scaling{Group: "g", Message: "more", Count: new(int64(2))}, true},
			} {
				if plan, err := e.Handle("job").Scale(c.order); err != nil || (plan != nil) != c.planned {
					t.Errorf("%s: %+v, %v", c.order.Message, plan, err)
				}
			}
			if _, err := e.Handle("job").Scale(engine.Scaling{Group: "g", Message: "refused", Count: new(int64(3)), Error: true}); err == nil {
				t.Error("an error with a count is not refused")
			}
			want := map[string][]api.ScalingEvent{"g": {
				{Time: at, Message: "more", PreviousCount: 1, Count: new(int64(2))},
				{Time: at, Message: "no metrics", PreviousCount: 1, Error: true},
				{Time: at, Message: "looked", PreviousCount: 1, Meta: meta},
			}}
			got := e.Handle("job").Scalings()
			if id := got["g"][0].EvalID; id == nil || *id == "" {
				t.Error("the event that changed the job has no evaluation")
			}
			got["g"][0].EvalID = nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for n := range 21 {
				if _, err := e.Handle("job").Scale(engine.Scaling{Group: "other", Message: fmt.Sprint(n)}); err != nil {
					t.Error(err)
				}
			}
			kept := e.Handle("job").Scalings()
			if others := kept["other"]; len(kept["g"]) != 3 || len(others) != 20 || others[0].Message != "20" || others[19].Message != "1" {
				t.Errorf("kept are %+v", kept)
			}
		},
		2 * time.Hour: stop,
	})
}

// In a run whose other jobs continue, the error says that a job has ended: it is
// not being stopped, and only an agent starts it again.
func TestScaleOfAJobThatHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, t.TempDir())
		if err := e.Submit(named("over", newJob("batch", newTask("t"))), named("goes-on", service(1, "a"))); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		_, err := e.Handle("over").Scale(engine.Scaling{Group: "g", Count: new(int64(2))})
		if want := `cannot change job "over": it has ended, and only an agent starts it again`; err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
		e.Stop()
		<-e.Done()
	})
}
