package registry

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
)

// Table holds the objects of one kind by key. Keys have no null characters.
type Table[T any] struct {
	registry *Registry
	name     event.Table
	indexes  func(*T) (created, modified *uint64)
	objects  map[string]*T
	// deleted is the index of the latest deletion.
	deleted uint64
}

// MaxObjects limits the objects of a table.
const MaxObjects = 10_000

// ErrFull is the error of another object in a table with MaxObjects.
var ErrFull = fmt.Errorf("there are %d objects of this kind already: delete some first", MaxObjects)

// newTable adds a table to a registry. indexes returns the fields of an object
// that get the indexes of its creation and its latest change.
func newTable[T any](r *Registry, name event.Table, indexes func(*T) (created, modified *uint64)) *Table[T] {
	t := &Table[T]{registry: r, name: name, indexes: indexes, objects: map[string]*T{}}
	r.tables = append(r.tables, t)
	return t
}

// Get returns the object with a key, or nil.
func (t *Table[T]) Get(key string) *T {
	t.registry.mu.RLock()
	defer t.registry.mu.RUnlock()
	return t.objects[key]
}

// All returns the objects, sorted by key.
func (t *Table[T]) All() []*T {
	t.registry.mu.RLock()
	defer t.registry.mu.RUnlock()
	list := make([]*T, 0, len(t.objects))
	for _, key := range slices.Sorted(maps.Keys(t.objects)) {
		list = append(list, t.objects[key])
	}
	return list
}

// Len returns the number of objects.
func (t *Table[T]) Len() int {
	t.registry.mu.RLock()
	defer t.registry.mu.RUnlock()
	return len(t.objects)
}

// Add adds an object that is there without a change, unless there is one with
// its key. It is neither stored nor published.
func (t *Table[T]) Add(key string, now *T) {
	t.registry.mu.Lock()
	defer t.registry.mu.Unlock()
	if t.objects[key] == nil {
		created, modified := t.indexes(now)
		*created, *modified = fold.FirstIndex, fold.FirstIndex
		t.objects[key] = now
	}
}

// Put creates or replaces an object, and sets its indexes. It returns the index
// of the change.
func (t *Table[T]) Put(key string, now *T) (uint64, error) {
	return t.Change(key, func(*T) (*T, error) { return now, nil })
}

// Delete deletes an object, if it exists. It returns the index of the change.
func (t *Table[T]) Delete(key string) (uint64, error) {
	return t.Change(key, func(*T) (*T, error) { return nil, nil })
}

// Change replaces an object with the result of change. was is nil for a new object,
// and a result of nil deletes it. Nothing happens if change returns the same object
// or an error. A registry makes its changes one after the other; change must not
// make another one. Change returns the index of the change, or that of the object
// if nothing has changed.
func (t *Table[T]) Change(key string, change func(was *T) (now *T, err error)) (uint64, error) {
	r := t.registry
	r.orders.Lock()
	defer r.orders.Unlock()
	was := t.Get(key)
	now, err := change(was)
	switch {
	case err != nil:
		return 0, err
	case was == nil && now != nil && t.Len() >= MaxObjects:
		return 0, ErrFull
	case was == nil && now == nil:
		return fold.FirstIndex, nil
	case now == was:
		_, modified := t.indexes(was)
		return *modified, nil
	}
	return t.commit(key, was, now)
}

// commit stores and publishes a change. The caller must hold orders.
func (t *Table[T]) commit(key string, was, now *T) (at uint64, err error) {
	var c store.Change
	path := store.KeyOf(string(t.name), "object", key)
	if now == nil {
		c.Drop(path)
		c.Add(event.Event{Time: time.Now(), Body: event.Object{Table: t.name, Key: key, Value: was, Deleted: true}})
	} else {
		c.Put(path, now)
		c.Add(event.Event{Time: time.Now(), Body: event.Object{Table: t.name, Key: key, Value: now}})
	}
	c.Number(func(c *store.Change, seq uint64) {
		at = index(seq)
		if now == nil {
			c.Put(store.KeyOf(string(t.name), "deleted"), at)
			return
		}
		created, modified := t.indexes(now)
		*created, *modified = at, at
		if was != nil {
			before, _ := t.indexes(was)
			*created = *before
		}
	})
	err = t.registry.ledger.Commit(c, func() {
		t.registry.mu.Lock()
		defer t.registry.mu.Unlock()
		if now == nil {
			delete(t.objects, key)
		} else {
			t.objects[key] = now
		}
	})
	return at, err
}

// load reads the stored objects, and returns the errors of those that it cannot
// read.
func (t *Table[T]) load() (lost []error) {
	ledger := t.registry.ledger
	for _, path := range ledger.Keys(store.KeyOf(string(t.name), "object")) {
		now := new(T)
		if _, err := ledger.Get(path, now); err != nil {
			lost = append(lost, err)
			continue
		}
		t.objects[path.Parts()[2]] = now
	}
	if _, err := ledger.Get(store.KeyOf(string(t.name), "deleted"), &t.deleted); err != nil {
		lost = append(lost, err)
	}
	return lost
}

// past returns an event for each object, and for the latest deletion.
func (t *Table[T]) past() (events []event.Event) {
	add := func(at uint64, key string, deleted bool) {
		events = append(events, event.Event{
			Seq: at - fold.FirstIndex, Time: time.Now(), Body: event.Object{Table: t.name, Key: key, Deleted: deleted},
		})
	}
	if t.deleted > 0 {
		add(t.deleted, "", true)
	}
	for key, now := range t.objects {
		if _, modified := t.indexes(now); *modified > fold.FirstIndex {
			add(*modified, key, false)
		}
	}
	return events
}
