// Package taskstore keeps the tasks of a driver: which there are, and how each
// ended. It never starts or stops anything.
package taskstore

import (
	"fmt"
	"sync"

	"taskrun/drivers"
)

// Store maps task IDs to a driver's own record of a task. The zero value is
// empty and ready. All methods may be called from several goroutines at once.
type Store[T any] struct {
	mu    sync.Mutex
	tasks map[string]entry[T]
}

// entry is a task that has started or is about to.
type entry[T any] struct {
	task    T
	started bool
}

// Reserve reserves an ID for a task that is about to start, so that a second start
// with it fails. Put or Remove must follow.
func (s *Store[T]) Reserve(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.tasks[id]; taken {
		return fmt.Errorf("task with ID %q already started", id)
	}
	s.put(id, entry[T]{})
	return nil
}

// Put records a task that has started under a reserved ID, or was recovered.
func (s *Store[T]) Put(id string, task T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(id, entry[T]{task, true})
}

// put stores an entry. The caller holds mu.
func (s *Store[T]) put(id string, e entry[T]) {
	if s.tasks == nil {
		s.tasks = map[string]entry[T]{}
	}
	s.tasks[id] = e
}

// Get returns a task that has started, or drivers.ErrTaskNotFound.
func (s *Store[T]) Get(id string) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.tasks[id]
	if !e.started {
		return e.task, drivers.ErrTaskNotFound
	}
	return e.task, nil
}

// Remove forgets a task, or releases a reserved ID.
func (s *Store[T]) Remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tasks, id)
}
