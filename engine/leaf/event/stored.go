package event

import (
	"encoding/json"
	"fmt"
	"time"
)

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
