package verify

import (
	"errors"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/report/compare"
	"taskrun/cmd/verdict"
)

// A job is followed until it has ended, or will never be placed.
func TestPlay(t *testing.T) {
	t.Parallel()
	failed := map[string]*api.AllocationMetric{"g": {NodesEvaluated: 1, NodesExhausted: 1, DimensionExhausted: map[string]int{"memory": 1}}}
	alloc := &api.AllocationListStub{
		ID: "1", JobID: "j", Name: "j.g[0]", TaskGroup: "g", Namespace: "team", ClientStatus: "complete", CreateTime: begin.UnixNano(), ModifyTime: begin.UnixNano(),
		TaskStates: map[string]*api.TaskState{"m": {State: "dead", Events: []*api.TaskEvent{
			{Type: api.TaskReceived, Time: begin.UnixNano()},
			{Type: api.TaskStarted, Time: begin.UnixNano()},
			{Type: api.TaskTerminated, Time: begin.UnixNano(), Details: map[string]string{"exit_code": "3"}},
		}}},
	}
	ended := agent{
		"/v1/job/j": &api.Job{ID: new("j"), Status: new("dead")}, "/v1/job/j/allocations": []*api.AllocationListStub{alloc},
		"/v1/job/j/evaluations": []*api.Evaluation{{ID: "e", Status: "complete"}}, "/v1/job/j/deployment": nil,
	}
	unplaced := agent{
		"/v1/job/j": &api.Job{ID: new("j"), Status: new("pending")}, "/v1/job/j/allocations": []*api.AllocationListStub{},
		"/v1/job/j/evaluations": []*api.Evaluation{{ID: "e", Status: "complete", FailedTGAllocs: failed}}, "/v1/job/j/deployment": nil,
	}
	var logs atomic.Bool
	ended["/v1/client/fs/logs/1"] = func() any { logs.Store(true); return "" }
	running, late, bubble := *alloc, *alloc, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when a bubble begins
	running.ClientStatus, running.CreateTime, running.ModifyTime = "running", bubble.UnixNano(), bubble.UnixNano()
	running.TaskStates = map[string]*api.TaskState{"m": {State: "running", StartedAt: bubble, Events: []*api.TaskEvent{
		{Type: api.TaskReceived, Time: bubble.UnixNano()},
		{Type: api.TaskStarted, Time: bubble.UnixNano()},
	}}}
	late.ID, late.Name = "2", "j.g[1]"
	stopped := maps.Clone(ended)
	stopped["/v1/client/allocation/1/checks"] = api.AllocCheckStatuses{"c": {Service: "web", Check: "alive", Status: "success"}}
	play := func(t *testing.T, a agent) (*Played, []string, error) {
		var said []string
		s := a.collector(t).Side
		s.Job.Type, s.Job.Status, s.Job.Version, s.EvalID, s.Alone = new(api.JobTypeBatch), new("running"), new(uint64(0)), "e", true
		s.Job.TaskGroups[0].Count, s.Job.TaskGroups[0].Tasks = new(1), s.Job.TaskGroups[0].Tasks[1:] // only m
		s.Say = func(text string) { said = append(said, text) }
		got, err := Play(t.Context(), s, verdict.Policy{Timeout: time.Minute, Until: time.Second})
		return got, said, err
	}
	synctest.Test(t, func(t *testing.T) {
		got, said, err := play(t, ended)
		if err != nil || len(said) > 0 || len(got.Run.Allocs) != 1 || got.Run.Allocs[0].Tasks["m"] == nil || got.Cause != "" {
			t.Errorf("a job that ends: %+v, %q, error %v", got, said, err)
		}
		if logs.Load() {
			t.Error("the output is read, which is not compared")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		after := func(then, now any) func() any {
			return func() any {
				if time.Since(bubble) < waitTime {
					return then
				}
				return now
			}
		}
		stopped["/v1/job/j"] = after(&api.Job{ID: new("j"), Status: new("running")}, ended["/v1/job/j"])
		stopped["/v1/job/j/allocations"] = after([]*api.AllocationListStub{&running}, []*api.AllocationListStub{alloc, &late})
		got, said, err := play(t, stopped)
		if err != nil || len(said) > 0 || got.Cause == "" || len(got.Run.Allocs) != 1 {
			t.Fatalf("a job that is stopped: %+v, %q, error %v", got, said, err)
		}
		if got := got.Run.Allocs[0].Values[compare.Key{Kind: compare.Check, Name: "web/alive"}]; got != "success" {
			t.Errorf("before the job is stopped, its check is %q", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		_, _, err := play(t, unplaced)
		if never, ok := errors.AsType[*UnplacedError](err); !ok || len(never.Lines) != 1 || !strings.Contains(never.Lines[0], "memory") {
			t.Errorf("a job without room: error %v", err)
		}
	})
}

// A task has started with its first start, and ended with its last end.
func TestByEvents(t *testing.T) {
	t.Parallel()
	all := []compare.Event{
		{At: 1, Type: api.TaskReceived},
		{At: 2, Type: api.TaskStarted},
		{At: 3, Type: api.TaskTerminated},
		{At: 4, Type: api.TaskStarted},
		{At: 5, Type: api.TaskTerminated},
		{At: 6, Type: api.TaskKilled},
	}
	for _, tt := range []struct {
		events              []compare.Event
		started, ended      int // as they were known
		wantStart, wantEnds int
	}{
		{all, 20, 60, 2, 5},
		{all, 20, 0, 2, 5},
		{all, 20, -1, 2, -1}, // it is running
		{all[:1], 20, 60, 20, 60},
	} {
		task := &compare.Task{Events: tt.events, Started: time.Duration(tt.started), Ended: time.Duration(tt.ended)}
		if byEvents(task); task.Started != time.Duration(tt.wantStart) || task.Ended != time.Duration(tt.wantEnds) {
			t.Errorf("%+v: started at %d, ended at %d", tt, task.Started, task.Ended)
		}
	}
}
