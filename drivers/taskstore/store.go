// Package taskstore keeps the tasks of a driver and how each of them ended. It
// never starts or stops anything.
package taskstore

import (
	"fmt"
	"sync"

	"taskrun/drivers"
)

// Store maps task IDs to a driver's own record of a task. The zero value is
// empty and ready. All methods are safe for concurrent use.
type Store[T any] struct {
	tasks sync.Map // by ID: *T; nil while the task starts
}

// Reserve reserves an ID for a task that is about to start, so that a second
// start with it fails. Call Put or Remove afterwards.
func (s *Store[T]) Reserve(id string) error {
	if _, taken := s.tasks.LoadOrStore(id, (*T)(nil)); taken {
		return fmt.Errorf("task with ID %q already started", id)
	}
	return nil
}

// Put records a task that has started under a reserved ID, or was recovered.
func (s *Store[T]) Put(id string, task T) { s.tasks.Store(id, &task) }

// Get returns a task that has started, or drivers.ErrTaskNotFound.
func (s *Store[T]) Get(id string) (task T, err error) {
	found, _ := s.tasks.Load(id)
	if started, _ := found.(*T); started != nil {
		return *started, nil
	}
	return task, drivers.ErrTaskNotFound
}

// Remove forgets a task, or releases a reserved ID.
func (s *Store[T]) Remove(id string) { s.tasks.Delete(id) }
