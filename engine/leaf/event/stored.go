package event

import (
	"encoding/json"
	"fmt"
	"time"
)

// Stored is an event in the form in which it outlives the program, whole but
// for an Output or Gap, which have none.
type Stored struct {
	Seq   uint64          `json:"seq"`
	Time  time.Time       `json:"time"`
	Alloc *Alloc          `json:"alloc,omitempty"`
	Task  string          `json:"task,omitempty"`
	Kind  string          `json:"kind"`
	Body  json.RawMessage `json:"body"`
}

// Kind names the type of a body, "" for one that cannot be stored.
func Kind(b Body) string {
	switch b.(type) {
	case TaskEvent:
		return "task_event"
	case TaskState:
		return "task_state"
	case AllocStatus:
		return "alloc_status"
	case AllocHealth:
		return "alloc_health"
	case Deployment:
		return "deployment"
	case Version:
		return "version"
	case Evaluation:
		return "evaluation"
	case Service:
		return "service"
	case Check:
		return "check"
	case Notice:
		return "notice"
	default:
		return ""
	}
}

// Store returns the event as it is stored.
func (e Event) Store() (Stored, error) {
	kind := Kind(e.Body)
	if kind == "" {
		return Stored{}, fmt.Errorf("cannot store an event of type %T", e.Body)
	}
	body, err := json.Marshal(e.Body)
	return Stored{Seq: e.Seq, Time: e.Time, Alloc: e.Alloc, Task: e.Task, Kind: kind, Body: body}, err
}

// Event returns the event that was stored.
func (s Stored) Event() (Event, error) {
	e := Event{Seq: s.Seq, Time: s.Time, Alloc: s.Alloc, Task: s.Task}
	var err error
	switch s.Kind {
	case "task_event":
		e.Body, err = decode[TaskEvent](s.Body)
	case "task_state":
		e.Body, err = decode[TaskState](s.Body)
	case "alloc_status":
		e.Body, err = decode[AllocStatus](s.Body)
	case "alloc_health":
		e.Body, err = decode[AllocHealth](s.Body)
	case "deployment":
		e.Body, err = decode[Deployment](s.Body)
	case "version":
		e.Body, err = decode[Version](s.Body)
	case "evaluation":
		e.Body, err = decode[Evaluation](s.Body)
	case "service":
		e.Body, err = decode[Service](s.Body)
	case "check":
		e.Body, err = decode[Check](s.Body)
	case "notice":
		e.Body, err = decode[Notice](s.Body)
	default:
		err = fmt.Errorf("there are no events of kind %q", s.Kind)
	}
	return e, err
}

func decode[B Body](text json.RawMessage) (Body, error) {
	var body B
	err := json.Unmarshal(text, &body)
	return body, err
}
