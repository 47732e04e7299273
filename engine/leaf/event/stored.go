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
	body, err := decode(s.Kind, s.Body)
	return Event{Seq: s.Seq, Time: s.Time, Alloc: s.Alloc, Task: s.Task, Body: body}, err
}
