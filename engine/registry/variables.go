package registry

import (
	"cmp"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
)

// variables stores Nomad variables. Others keep them in memory, and await the
// ends of their locks.
type variables struct {
	registry *Registry
	stored   []*api.Variable // at the start
	deleted  uint64          // index of the latest deletion at the start
}

// Keys of variables.
const (
	variablesKey = "variable"
	deletedKey   = "deleted"
	objectKey    = "object"
)

// Variables returns the variables that were stored when the registry was opened.
func (r *Registry) Variables() []*api.Variable { return r.variables.stored }

// KeepVariable sets the indexes of a variable that was written or deleted, stores
// it, and publishes the change without its items and its lock.
func (r *Registry) KeepVariable(v *api.Variable, deleted bool) error {
	shown := v.Metadata()
	var c store.Change
	c.Add(event.Event{Time: time.Now(), Body: event.Variable{VariableMetadata: shown, Deleted: deleted}})
	c.Number(func(c *store.Change, seq uint64) {
		v.ModifyIndex = index(seq)
		v.CreateIndex = cmp.Or(v.CreateIndex, v.ModifyIndex)
		shown.CreateIndex, shown.ModifyIndex = v.CreateIndex, v.ModifyIndex
		path := store.KeyOf(variablesKey, objectKey, v.Namespace, v.Path)
		if deleted {
			c.Drop(path)
			c.Put(store.KeyOf(variablesKey, deletedKey), v.ModifyIndex)
		} else {
			c.Put(path, v)
		}
	})
	return r.ledger.Commit(c, func() {})
}

func (t *variables) load() (lost []error) {
	ledger := t.registry.ledger
	for _, path := range ledger.Keys(store.KeyOf(variablesKey, objectKey)) {
		v := new(api.Variable)
		if _, err := ledger.Get(path, v); err != nil {
			lost = append(lost, err)
			continue
		}
		t.stored = append(t.stored, v)
	}
	if _, err := ledger.Get(store.KeyOf(variablesKey, deletedKey), &t.deleted); err != nil {
		lost = append(lost, err)
	}
	return lost
}

func (t *variables) past() (events []event.Event) {
	add := func(at uint64, shown *api.VariableMetadata, deleted bool) {
		events = append(events, event.Event{
			Seq: at - fold.FirstIndex, Time: time.Now(), Body: event.Variable{VariableMetadata: shown, Deleted: deleted},
		})
	}
	if t.deleted > 0 {
		add(t.deleted, &api.VariableMetadata{}, true)
	}
	for _, v := range t.stored {
		add(v.ModifyIndex, v.Metadata(), false)
	}
	return events
}
