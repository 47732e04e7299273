package store

import (
	"encoding/json"

	"taskrun/engine/leaf/event"
)

// Change is a set of records and events, which is stored as a whole or not at
// all. The zero value is empty.
type Change struct {
	puts   map[Key]any
	drops  []Key
	all    []Key // delete these and everything below them
	events []event.Event
	number func(c *Change, seq uint64)
}

// Put stores a value, which replaces an earlier one. The value must be suitable
// for encoding/json, and must not change before Commit.
func (c *Change) Put(key Key, value any) {
	if c.puts == nil {
		c.puts = map[Key]any{}
	}
	c.puts[key] = value
}

// Drop deletes the record with a key. A Put in the same change comes after it.
func (c *Change) Drop(key Key) { c.drops = append(c.drops, key) }

// DropAll deletes the records with a key and below it. Its cost depends on the
// total number of records.
func (c *Change) DropAll(prefix Key) { c.all = append(c.all, prefix) }

// Add adds an event.
func (c *Change) Add(e event.Event) { c.events = append(c.events, e) }

// Number sets a function that a Ledger calls with the number of the last event,
// before anything is stored. It may put more values, or change those that were
// put, so that they contain their index.
func (c *Change) Number(set func(c *Change, seq uint64)) { c.number = set }

// Reset makes the change empty.
func (c *Change) Reset() {
	clear(c.puts)
	clear(c.events)
	c.drops, c.all, c.events = c.drops[:0], c.all[:0], c.events[:0]
}

func (c *Change) isEmpty() bool { return len(c.puts)+len(c.drops)+len(c.all)+len(c.events) == 0 }

// record returns the change in its stored form, without its events.
func (c *Change) record() (*record, error) {
	rec := &record{Drop: c.drops, All: c.all, Put: make(map[Key]json.RawMessage, len(c.puts)+len(c.events))}
	for key, value := range c.puts {
		text, err := json.Marshal(value)
		if err != nil {
			return rec, err
		}
		rec.Put[key] = text
	}
	return rec, nil
}

// ForgetAlloc adds the deletion of an allocation's events to a change.
func (c *Change) ForgetAlloc(id string) { c.DropAll(KeyOf(past, id)) }

// ForgetJob adds the deletion of a job's events to a change, besides those of
// its allocations.
func (c *Change) ForgetJob(job string) { c.DropAll(KeyOf(past, "", job)) }

// ForgetVersion adds the deletion of the events of a job's version, and of its
// deployment, to a change.
func (c *Change) ForgetVersion(job string, number uint64, deployment string) {
	for _, e := range []event.Event{{Body: event.Version{Job: job, Number: number}}, {Body: event.Deployment{Job: job, ID: deployment}}} {
		c.drops = append(c.drops, pastKey(e), firstKey(e))
	}
}

// ForgetEvaluation adds the deletion of an evaluation to a change.
func (c *Change) ForgetEvaluation(v event.Evaluation) { c.Drop(pastKey(event.Event{Body: v})) }
