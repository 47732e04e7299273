package verify

import (
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/report/compare"
)

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
