package event

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"
)

// object has the fields of every event in --output json and in the history of a
// run. The fields of the body follow.
type object struct {
	Type      string    `json:"type"`
	Time      time.Time `json:"time"`
	Job       string    `json:"job,omitempty"`       // ID; its key in old histories
	Namespace string    `json:"namespace,omitempty"` // empty: default
	Group     string    `json:"group,omitempty"`
	Alloc     string    `json:"alloc,omitempty"`
	AllocID   string    `json:"alloc_id,omitempty"`
	Task      string    `json:"task,omitempty"`
	Parent    string    `json:"parent,omitempty"` // ID of the parent job
}

// Bodies with different forms for users and for storage.
type (
	taskEventObject struct {
		Event   string            `json:"event"`
		Message string            `json:"message"`
		Details map[string]string `json:"details"`
	}
	taskStateObject struct {
		State    string `json:"state"`
		Failed   bool   `json:"failed"`
		Restarts uint64 `json:"restarts"`
		Halted   bool   `json:"stopped,omitempty"`
	}
	allocStatusObject struct {
		Evaluation  string `json:"evaluation,omitempty"`
		Status      string `json:"status"`
		Description string `json:"description"`
		Replaces    string `json:"replaces,omitempty"`
		RetryMS     *int64 `json:"retry_ms,omitempty"`
	}
	diagnosticObject struct {
		Severity string `json:"severity"`
		Summary  string `json:"summary"`
		Unfixed  string `json:"unfixed,omitempty"`
		Fixed    bool   `json:"fixed,omitempty"`
	}
)

// MarshalJSON returns the event as one object. An Output cannot be marshaled:
// its bytes are not part of the event.
func (e Event) MarshalJSON() ([]byte, error) {
	o := object{Type: Kind(e.Body), Time: e.Time.UTC(), Task: e.Task}
	if e.Alloc != nil {
		o.Job, o.Group, o.Alloc, o.AllocID, o.Parent = e.Alloc.Job, e.Alloc.Group, e.Alloc.Name, e.Alloc.ID, e.Alloc.Parent
	}
	var shown any = e.Body
	switch b := e.Body.(type) {
	case TaskEvent:
		shown = taskEventObject{b.Type, b.DisplayMessage, b.Details}
	case TaskState:
		shown = taskStateObject{b.State, b.Failed, b.Restarts, b.Halted}
	case AllocStatus:
		s := allocStatusObject{b.Evaluation, b.Status, b.Description, b.Replaces, nil}
		if b.Retry >= 0 {
			s.RetryMS = new(b.Retry.Milliseconds())
		}
		shown = s
	case Deployment:
		o.Job, b.Job = b.Job, ""
		shown = b
	case Version:
		o.Job, o.Parent, b.Job, b.Parent = b.Job, b.Parent, "", ""
		shown = b
	case Evaluation:
		o.Job, o.Parent, b.Job, b.Parent = b.Job, b.Parent, "", ""
		shown = b
	case Notice:
		o.Type, shown = "diagnostic", diagnosticObject{"warning", b.Text, b.Unfixed, b.Fixed}
		if e.Alloc == nil {
			o.Job = b.Job
		}
	}
	if namespace, id := SplitJobKey(o.Job); namespace != api.DefaultNamespace {
		o.Job, o.Namespace = id, namespace
	}
	if o.Type == "" {
		return nil, &json.UnsupportedTypeError{}
	}
	head, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(shown) // never an empty object
	if err != nil {
		return nil, err
	}
	head[len(head)-1] = ','
	return append(head, body[1:]...), nil
}

// Line returns the event as one object for a history, with its number there, if it
// has one.
func (e Event) Line(seq uint64) ([]byte, error) {
	text, err := e.MarshalJSON()
	if err != nil || seq == 0 {
		return append(text, '\n'), err
	}
	line := fmt.Appendf(nil, `{"seq":%d,%s`, seq, text[1:])
	return append(line, '\n'), nil
}

// UnknownTypeError reports an event of a type that only a newer taskrun has.
type UnknownTypeError struct{ Type string }

func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("there are no events of type %q", e.Type)
}

// Number returns the number of a line in its history; 0 if it has none.
func Number(line []byte) uint64 {
	var numbered struct{ Seq uint64 }
	if json.Unmarshal(line, &numbered) != nil {
		return 0
	}
	return numbered.Seq
}

// Parse parses an event from MarshalJSON or Line, but not its number. With an
// *UnknownTypeError, it returns all but the body.
func Parse(line []byte) (Event, error) {
	e, err := ParseLine(line)
	e.Seq = 0
	return e, err
}

// ParseLine parses an event as Parse does, and its number as Number does.
func ParseLine(line []byte) (Event, error) {
	// Those of tasks are the most frequent: they are read in one go.
	var all struct {
		Seq json.RawMessage // a wrong number counts as missing
		object
		taskEventObject
		taskStateObject
	}
	err := json.Unmarshal(line, &all)
	head := all.object
	if err != nil { // the names may mean something else in other types
		if err := json.Unmarshal(line, &head); err != nil {
			return Event{}, err
		}
	}
	job := JobKey(head.Namespace, head.Job)
	e := Event{Time: head.Time, Task: head.Task}
	if seq, err := strconv.ParseUint(string(all.Seq), 10, 64); err == nil {
		e.Seq = seq
	}
	if head.AllocID != "" {
		e.Alloc = &Alloc{Job: job, Group: head.Group, Name: head.Alloc, ID: head.AllocID, Parent: head.Parent}
	}
	switch head.Type {
	case "task_event":
		if err == nil {
			e.Body = TaskEvent{&api.TaskEvent{Type: all.Event, Time: head.Time.UnixNano(), DisplayMessage: all.Message, Details: all.Details}}
		}
	case "task_state":
		if err == nil {
			e.Body = TaskState{State: all.State, Failed: all.Failed, Restarts: all.Restarts, Halted: all.Halted}
		}
	case "alloc_status":
		e.Body, err = parse(line, func(o allocStatusObject) Body {
			s := AllocStatus{Status: o.Status, Description: o.Description, Replaces: o.Replaces, Retry: -1, Evaluation: o.Evaluation}
			if o.RetryMS != nil {
				s.Retry = time.Duration(*o.RetryMS) * time.Millisecond
			}
			return s
		})
	case "diagnostic":
		e.Body, err = parse(line, func(o diagnosticObject) Body {
			n := Notice{Text: o.Summary, Unfixed: o.Unfixed, Fixed: o.Fixed}
			if e.Alloc == nil && head.Job != "" {
				n.Job = job
			}
			return n
		})
	default:
		e.Body, err = decode(head.Type, line)
		e.Body = of(job, e.Body)
	}
	return e, err
}

// of returns a body with the key of its job, if it has one.
func of(job string, body Body) Body {
	switch b := body.(type) {
	case Deployment:
		b.Job = job
		return b
	case Version:
		b.Job = job
		return b
	case Evaluation:
		b.Job = job
		return b
	}
	return body
}

func parse[O any](line []byte, body func(O) Body) (Body, error) {
	var o O
	if err := json.Unmarshal(line, &o); err != nil {
		return nil, err
	}
	return body(o), nil
}

// decode decodes a body in its stored form.
func decode(kind string, text []byte) (Body, error) {
	read, ok := kinds[kind]
	if !ok {
		return nil, &UnknownTypeError{kind}
	}
	return read(text)
}

// kinds has the decoders of the bodies that can be stored.
var kinds = map[string]func(text []byte) (Body, error){
	"task_event":   read[TaskEvent],
	"task_state":   read[TaskState],
	"alloc_status": read[AllocStatus],
	"alloc_health": read[AllocHealth],
	"deployment":   read[Deployment],
	"version":      read[Version],
	"evaluation":   read[Evaluation],
	"service":      read[Service],
	"check":        read[Check],
	"notice":       read[Notice],
}

func read[B Body](text []byte) (Body, error) {
	var body B
	err := json.Unmarshal(text, &body)
	return body, err
}

// Stored is the stored form of an event. Output and Gap have none.
type Stored struct {
	Seq   uint64          `json:"seq"`
	Time  time.Time       `json:"time"`
	Alloc *Alloc          `json:"alloc,omitempty"`
	Task  string          `json:"task,omitempty"`
	Kind  string          `json:"kind"`
	Body  json.RawMessage `json:"body"`
}

// Store returns the event in its stored form.
func (e Event) Store() (Stored, error) {
	kind := Kind(e.Body)
	if kind == "" {
		return Stored{}, fmt.Errorf("cannot store an event of type %T", e.Body)
	}
	body, err := json.Marshal(e.Body)
	return Stored{Seq: e.Seq, Time: e.Time, Alloc: e.Alloc, Task: e.Task, Kind: kind, Body: body}, err
}

// Event returns the stored event.
func (s Stored) Event() (Event, error) {
	body, err := decode(s.Kind, s.Body)
	return Event{Seq: s.Seq, Time: s.Time, Alloc: s.Alloc, Task: s.Task, Body: body}, err
}
