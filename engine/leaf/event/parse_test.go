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

// A wrong number does not make a line unreadable, and neither does a field that has
// another type in other events.
func TestParseNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{"7": 7, "-1": 0, `"7"`: 0, "null": 0, "1.5": 0, "18446744073709551616": 0} {
		for _, body := range []string{`"type":"task_state","state":"dead"`, `"type":"alloc_health","healthy":true,"state":{"a":1}`} {
			line := []byte(`{"seq":` + text + `,` + body + `}`)
			e, err := event.ParseLine(line)
			if err != nil || e.Body == nil || e.Seq != want || event.Number(line) != want {
				t.Errorf("%s has the number %d, %v, want %d", line, e.Seq, err, want)
			}
			if e, err := event.Parse(line); err != nil || e.Seq != 0 {
				t.Errorf("%s has the number %d, %v without it", line, e.Seq, err)
			}
		}
	}
}
