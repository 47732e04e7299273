package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// happenings returns task events at times, as "TYPE@SECOND" or, with an exit
// code, "Terminated:3@SECOND".
func happenings(text string) (events []*api.TaskEvent) {
	for _, word := range strings.Split(text, ", ") {
		kind, second, _ := strings.Cut(word, "@")
		kind, code, _ := strings.Cut(kind, ":")
		var at int64
		_, _ = fmt.Sscan(second, &at)
		events = append(events, &api.TaskEvent{Type: kind, Time: at * int64(time.Second), Details: map[string]string{"exit_code": code}})
	}
	return events
}

// words describes events.
func words(all []event.Event) (list []string) {
	for _, n := range all {
		switch b := n.Body.(type) {
		case event.TaskEvent:
			list = append(list, fmt.Sprintf("%d %s", n.Time.Unix(), b.Type))
		case event.TaskState:
			code := ""
			if b.ExitCode != nil {
				code = fmt.Sprintf(" code %d", *b.ExitCode)
			}
			list = append(list, fmt.Sprintf("%d %s %v %d%s", n.Time.Unix(), b.State, b.Failed, b.Restarts, code))
		case event.AllocStatus:
			list = append(list, fmt.Sprintf("%s: %s, %v", b.Status, b.Description, b.Retry))
		case event.AllocHealth:
			list = append(list, fmt.Sprintf("healthy %v", b.Healthy))
		}
	}
	return list
}

// Successive descriptions of a task become events, each one once.
func TestEventsOfATask(t *testing.T) {
	t.Parallel()
	finished := time.Unix(9, 0)
	for _, c := range []struct {
		name  string
		seen  []*api.TaskState
		tells []string
	}{
		{"as it comes", []*api.TaskState{
			{State: "pending", Events: happenings("Received@1")},
			{State: "running", Events: happenings("Received@1, Started@2")},
			{State: "running", Events: happenings("Received@1, Started@2")},
			{State: "dead", FinishedAt: finished, Events: happenings("Received@1, Started@2, Terminated:0@9")},
		}, []string{"1 Received", "2 Started", "2 running false 0", "9 Terminated", "9 dead false 0 code 0"}},
		{"all at once", []*api.TaskState{
			{State: "dead", Failed: true, Restarts: 1, FinishedAt: finished, Events: happenings("Received@1, Started@2, Terminated:3@3, Restarting@3, Started@5, Terminated:4@9, Not Restarting@9")},
		}, []string{
			"1 Received", "2 Started", "2 running false 0", "3 Terminated", "3 Restarting", "3 pending false 1 code 3",
			"5 Started", "5 running false 1 code 3", "9 Terminated", "9 Not Restarting", "9 dead true 1 code 4",
		}},
		{"a clock that goes back", []*api.TaskState{
			{State: "pending", Restarts: 1, Events: happenings("Started@2, Terminated:1@4, Restarting@3")},
		}, []string{"2 Started", "2 running false 0", "4 Terminated", "4 Restarting", "4 pending false 1 code 1"}},
		{"the first events are forgotten", []*api.TaskState{
			{State: "running", Events: happenings("Received@1, Started@2")},
			{State: "running", Restarts: 7, Events: happenings("Terminated:1@7, Restarting@7, Started@8")},
		}, []string{
			"1 Received", "2 Started", "2 running false 0",
			"7 Terminated", "7 Restarting", "7 pending false 1 code 1", "8 Started", "8 running false 1 code 1", "8 running false 7 code 1",
		}},
		{"its restart is forgotten", []*api.TaskState{
			{State: "running", Events: happenings("Received@1, Started@2")},
			{State: "running", Events: happenings("Started@8")},
		}, []string{"1 Received", "2 Started", "2 running false 0", "8 Started", "8 running false 0"}},
		{"an exit code that is none", []*api.TaskState{
			{State: "pending", Restarts: 1, Events: happenings("Started@2, Terminated:@3, Restarting@4, Restarting@5")},
		}, []string{"2 Started", "2 running false 0", "3 Terminated", "4 Restarting", "4 pending false 1", "5 Restarting"}},
		{"without events", []*api.TaskState{
			{State: "running", StartedAt: time.Unix(5, 0)}, {State: "dead", FinishedAt: finished},
		}, []string{"5 running false 0", "9 dead false 0"}},
		{"with the times of another state", []*api.TaskState{
			{State: "running", StartedAt: time.Unix(5, 0), Events: happenings("Received@3")}, {State: "dead", Events: happenings("Received@3, Killed@8")},
		}, []string{"3 Received", "3 running false 0", "8 Killed", "8 dead false 0"}},
		{"it fails later", []*api.TaskState{
			{State: "dead", FinishedAt: finished}, {State: "dead", FinishedAt: finished, Failed: true},
		}, []string{"9 dead false 0", "9 dead true 0"}},
		{"two at the same moment", []*api.TaskState{
			{State: "pending", Events: happenings("Received@1")},
			{State: "pending", Events: happenings("Received@1, Task Setup@1")},
		}, []string{"1 Received", "1 Task Setup"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			known := &task{state: event.TaskState{State: "pending"}}
			var all []event.Event
			for _, s := range c.seen {
				all = append(all, known.events(s)...)
			}
			if diff := cmp.Diff(c.tells, words(all)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEventsOfAnAllocation(t *testing.T) {
	t.Parallel()
	s := &api.AllocationListStub{ID: "1", Name: "j.g[0]", JobID: "j", TaskGroup: "g", DesiredStatus: "run", CreateTime: 1, ModifyTime: 2}
	a := newAllocation(s, "parent", "")
	all := []event.Event{a.first(s)}
	for _, step := range []struct {
		status  string
		healthy *bool
		desired string
	}{
		{"pending", nil, "run"},
		{"running", nil, "run"},
		{"running", new(true), "run"},
		{"running", new(true), "run"},
		{"complete", new(false), "stop"}, // because it was stopped
	} {
		s.ClientStatus, s.DesiredStatus, s.ClientDescription = step.status, step.desired, "so it is"
		s.DeploymentStatus = &api.AllocDeploymentStatus{Healthy: step.healthy}
		all = append(all, a.events(s, -1)...)
	}
	want := []string{"pending: No tasks have started, -1ns", "running: so it is, -1ns", "healthy true", "complete: so it is, -1ns"}
	if diff := cmp.Diff(want, words(all)); diff != "" {
		t.Error(diff)
	}
	if !a.Of("parent") || !a.Of("j") {
		t.Errorf("it is %+v", a.Alloc)
	}
}

// Events of several tasks are sorted by time, then by the names of tasks; a
// state without a time has the current time.
func TestEventsOfTasksAreInOrder(t *testing.T) {
	t.Parallel()
	s := stub("1", "running", 1, map[string]*api.TaskState{
		"b": {Events: happenings("B1@1, B3@3"), State: "pending"}, "a": {Events: happenings("A1@1, A2@2"), State: "pending"}, "c": {Events: happenings("C2@2"), State: "pending"},
	})
	a := newAllocation(s, "", "0")
	var got []string
	for _, n := range a.taskEvents(s) {
		got = append(got, n.Task+" "+words([]event.Event{n})[0])
	}
	if diff := cmp.Diff([]string{"a 1 A1", "b 1 B1", "a 2 A2", "c 2 C2", "b 3 B3"}, got); diff != "" {
		t.Error(diff)
	}
	if again := a.taskEvents(s); again != nil {
		t.Errorf("published again: %q", words(again))
	}
	before := time.Now()
	for _, at := range []time.Time{unix(0), new(task).changed(&api.TaskState{State: "dead"}), new(task).changed(&api.TaskState{State: "running"})} {
		if at.Before(before) || at.After(time.Now()) {
			t.Errorf("it is of %v", at)
		}
	}
	if begun := a.first(s); !begun.Time.Equal(second(1)) || begun.Body.(event.AllocStatus).Replaces != "0" || begun.Body.(event.AllocStatus).Retry >= 0 {
		t.Errorf("begun %+v", begun)
	}
}

// Health is published when it changes, for allocations that should run.
func TestHealthIsPublishedOnce(t *testing.T) {
	t.Parallel()
	s := stub("1", "pending", 1, nil)
	a := newAllocation(s, "", "")
	a.first(s)
	var got []string
	for _, healthy := range []*bool{nil, new(false), new(false), new(true), new(true), nil} {
		s.DeploymentStatus = &api.AllocDeploymentStatus{Healthy: healthy}
		got = append(got, words(a.events(s, -1))...)
	}
	if diff := cmp.Diff([]string{"healthy false", "healthy true"}, got); diff != "" {
		t.Error(diff)
	}
}
