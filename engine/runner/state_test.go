package runner

import (
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

func TestAdvance(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	before := now.Add(-time.Hour)
	for name, tt := range map[string]struct {
		from  api.TaskState
		state string
		event *api.TaskEvent
		want  api.TaskState
	}{
		"an event alone":       {api.TaskState{State: pending}, "", event.Received(), api.TaskState{State: pending}},
		"start":                {api.TaskState{State: pending}, running, nil, api.TaskState{State: running, StartedAt: now}},
		"running stays":        {api.TaskState{State: running, StartedAt: before}, running, nil, api.TaskState{State: running, StartedAt: before}},
		"death":                {api.TaskState{State: running, StartedAt: before}, dead, nil, api.TaskState{State: dead, StartedAt: before, FinishedAt: now}},
		"dies once":            {api.TaskState{State: dead, FinishedAt: before}, dead, nil, api.TaskState{State: dead, FinishedAt: before}},
		"failure":              {api.TaskState{State: running}, dead, event.NotRestarting("x"), api.TaskState{State: dead, Failed: true, FinishedAt: now}},
		"failed for good":      {api.TaskState{State: running, Failed: true}, "", event.Started(), api.TaskState{State: running, Failed: true}},
		"restart":              {api.TaskState{State: running, Restarts: 1}, pending, event.Restarting(0, "", true), api.TaskState{State: pending, Restarts: 2}},
		"restart of the dead":  {api.TaskState{State: dead, FinishedAt: before}, pending, event.Restarting(0, "", true), api.TaskState{State: pending, Restarts: 1}},
		"shutdown delay waits": {api.TaskState{State: running}, pending, event.WaitingShutdownDelay(1), api.TaskState{State: pending}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := advance(tt.from, tt.state, tt.event, now)
			if tt.event != nil && (len(got.Events) != 1 || got.Events[0] != tt.event) {
				t.Errorf("events = %v", got.Events)
			}
			got.Events, got.LastRestart = nil, time.Time{}
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", tt.want) {
				t.Errorf("advance = %+v\nwant      %+v", got, tt.want)
			}
		})
	}
}

func TestTheEleventhEventEvictsTheFirst(t *testing.T) {
	t.Parallel()
	var s api.TaskState
	var kept []*api.TaskEvent
	for i := range 15 {
		before := s.Events
		e := event.HookMessage(fmt.Sprint(i))
		s = advance(s, "", e, time.Now())
		kept = append(kept, e)
		if len(before) > 0 && before[len(before)-1] != kept[i-1] {
			t.Fatal("an older snapshot has changed")
		}
	}
	if len(s.Events) != 10 || s.Events[0] != kept[5] || s.Events[9] != kept[14] {
		t.Errorf("kept %d events, the first %q", len(s.Events), s.Events[0].DisplayMessage)
	}
}
