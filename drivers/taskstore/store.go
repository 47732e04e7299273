// Package taskstore keeps the tasks of a driver: when each of them started and how
// it ended. It never starts or stops anything itself.
package taskstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"taskrun/drivers"
)

// Task is a driver's own record of a task. It embeds a *Life.
type Task interface{ life() *Life }

func (l *Life) life() *Life { return l }

// Store maps task IDs to tasks. A driver that embeds it has WaitTask and InspectTask.
// The zero value is empty and ready. All methods are safe for concurrent use. Those
// that get an ID return drivers.ErrTaskNotFound for a task that has not started.
type Store[T Task] struct {
	tasks sync.Map // by ID: *T; nil while the task starts
}

// Start calls start for a new ID, so that a second start with it fails meanwhile,
// and keeps the task.
func (s *Store[T]) Start(id string, start func() (T, error)) (task T, err error) {
	if _, taken := s.tasks.LoadOrStore(id, (*T)(nil)); taken {
		return task, fmt.Errorf("task with ID %q already started", id)
	}
	if task, err = start(); err != nil {
		s.Remove(id)
		return task, err
	}
	s.Put(id, task)
	return task, nil
}

// Put keeps a task that was recovered.
func (s *Store[T]) Put(id string, task T) { s.tasks.Store(id, &task) }

// Remove forgets a task.
func (s *Store[T]) Remove(id string) { s.tasks.Delete(id) }

// Get returns a task.
func (s *Store[T]) Get(id string) (task T, err error) {
	found, _ := s.tasks.Load(id)
	if started, _ := found.(*T); started != nil {
		return *started, nil
	}
	return task, drivers.ErrTaskNotFound
}

// Running returns a task that has not ended.
func (s *Store[T]) Running(id string) (T, error) {
	task, err := s.Get(id)
	if err == nil && task.life().Ended() {
		err = fmt.Errorf("task %q is not running", task.life().Name)
	}
	return task, err
}

// Destroyable returns a task that has ended or, with force, any.
func (s *Store[T]) Destroyable(id string, force bool) (T, error) {
	task, err := s.Get(id)
	if err == nil && !force && !task.life().Ended() {
		err = errors.New("cannot destroy running task")
	}
	return task, err
}

// WaitTask implements drivers.Driver.
func (s *Store[T]) WaitTask(ctx context.Context, id string) (<-chan *drivers.ExitResult, error) {
	task, err := s.Get(id)
	if err != nil {
		return nil, err
	}
	return task.life().Wait(ctx), nil
}

// InspectTask implements drivers.Driver.
func (s *Store[T]) InspectTask(id string) (*drivers.TaskStatus, error) {
	task, err := s.Get(id)
	if err != nil {
		return nil, err
	}
	return task.life().status(id), nil
}

// Sample implements StatsCollector.TaskStats with measure, which returns nil if the
// usage is unknown.
func (s *Store[T]) Sample(ctx context.Context, id string, interval time.Duration, measure func(T) *drivers.TaskResourceUsage) (<-chan *drivers.TaskResourceUsage, error) {
	task, err := s.Get(id)
	if err != nil {
		return nil, err
	}
	return task.life().sample(ctx, interval, func() *drivers.TaskResourceUsage { return measure(task) }), nil
}
