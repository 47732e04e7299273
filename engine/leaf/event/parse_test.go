package event_test

import (
	"errors"
	"testing"

	"taskrun/engine/leaf/event"
)

func TestParseFieldsOfOtherTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line    string
		want    event.Body
		unknown bool // the type
		fails   bool
	}{
		{line: `{"type":"task_state","state":"dead","failed":true,"restarts":2}`, want: event.TaskState{State: "dead", Failed: true, Restarts: 2}},
		{line: `{"type":"alloc_health","healthy":true,"state":{"a":1},"message":7}`, want: event.AllocHealth{Healthy: true}},
		{line: `{"type":"future","state":[],"details":"none"}`, unknown: true, fails: true},
		{line: `{"type":"task_state","state":7}`, fails: true},
		{line: `{"type":"task_event","details":7}`, fails: true},
		{line: `{"type":7}`, fails: true},
	} {
		e, err := event.Parse([]byte(c.line))
		unknown := errors.As(err, new(*event.UnknownTypeError))
		if (err != nil) != c.fails || unknown != c.unknown || e.Body != c.want {
			t.Errorf("%s is %+v, %v", c.line, e.Body, err)
		}
	}
}
