// Package image provides a Docker engine with the images of tasks: from a
// registry, from an archive of the task, or built here.
package image

import (
	"context"
	"sync"

	"taskrun/drivers"
	"taskrun/drivers/docker/settings"
	"taskrun/drivers/eventer"
)

// Store provides images. It fetches an image once for tasks that start together.
type Store struct {
	Options *settings.Options
	Events  *eventer.Eventer

	locks sync.Map // by image: chan struct{}, which holds a token while the image is being fetched
}

// lock locks an image, or returns the cause of the end of ctx.
func (s *Store) lock(ctx context.Context, image string) (unlock func(), err error) {
	lock, _ := s.locks.LoadOrStore(image, make(chan struct{}, 1))
	token := lock.(chan struct{}) //nolint:forcetypeassert // see locks
	select {
	case token <- struct{}{}:
		return func() { <-token }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// tell emits an event of a task about its image.
func (s *Store) tell(cfg *drivers.TaskConfig, image, message string) {
	s.Events.Tell(cfg, drivers.TaskEvent{Message: message, Annotations: map[string]string{"image": image}})
}
