package store

import (
	"encoding/json"
	"strconv"
	"strings"

	"taskrun/engine/leaf/event"
)

// past is the prefix of stored events: the latest one of each kind, and the
// first one of each allocation and deployment.
const past = "event"

// remember adds numbered events to a record, as lines of the history and as
// values.
func remember(rec *record, events []event.Event, j *journal) error {
	rec.Seq = j.seq
	var text strings.Builder
	for _, e := range events {
		rec.Seq = e.Seq
		line, err := e.Line(j.lines + 1)
		if err != nil {
			return err
		}
		j.lines++
		text.Write(line)
		stored, err := e.Store()
		if err != nil {
			return err
		}
		value, err := json.Marshal(stored)
		if err != nil {
			return err
		}
		rec.Put[pastKey(e)] = value
		if first := firstKey(e); j.values[first] == nil && rec.Put[first] == nil {
			rec.Put[first] = value
		}
	}
	rec.Text = text.String()
	return nil
}

// pastKey returns the key for the latest event of e's kind.
func pastKey(e event.Event) Key {
	kind := event.Kind(e.Body)
	switch b := e.Body.(type) {
	case event.Deployment: // it concerns no single allocation
		return KeyOf(past, "", b.Job, kind, b.ID)
	case event.Version:
		return KeyOf(past, "", b.Job, kind, strconv.FormatUint(b.Number, 10))
	case event.Evaluation:
		if b.Alloc == "" {
			return KeyOf(past, "", b.Job, kind, b.ID)
		}
		return KeyOf(past, b.Alloc, "", kind, string(b.Trigger)) // deleted with the allocation
	case event.Service:
		return KeyOf(past, e.Alloc.ID, e.Task, kind, b.ID)
	case event.Check:
		return KeyOf(past, e.Alloc.ID, e.Task, kind, b.Service, b.Check)
	}
	if e.Alloc == nil {
		return KeyOf(past, "", e.Task, kind)
	}
	return KeyOf(past, e.Alloc.ID, e.Task, kind)
}

// firstKey returns the key for the first event of an allocation, deployment or
// version.
func firstKey(e event.Event) Key {
	switch b := e.Body.(type) {
	case event.Deployment:
		return KeyOf(past, "", b.Job, "first", b.ID)
	case event.Version:
		return KeyOf(past, "", b.Job, "first version", strconv.FormatUint(b.Number, 10))
	}
	if e.Alloc == nil {
		return KeyOf(past, "", "", "first")
	}
	return KeyOf(past, e.Alloc.ID, "", "first")
}
