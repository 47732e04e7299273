package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/moby/moby/client"

	"taskrun/drivers"
)

// images provides the images of tasks, and keeps tasks that start together from
// fetching one twice.
type images struct {
	options *options
	events  *emitter

	mu    sync.Mutex
	locks map[string]chan struct{} // by image; holds a token while one works on it
}

// lock returns when nobody else works on the image, or with the error of ctx.
func (i *images) lock(ctx context.Context, image string) (unlock func(), err error) {
	i.mu.Lock()
	if i.locks == nil {
		i.locks = map[string]chan struct{}{}
	}
	lock := i.locks[image]
	if lock == nil {
		lock = make(chan struct{}, 1)
		i.locks[image] = lock
	}
	i.mu.Unlock()
	select {
	case lock <- struct{}{}:
		return func() { <-lock }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// isLatest reports whether an image is meant that changes under its name.
func isLatest(image string) (bool, error) {
	ref, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return false, fmt.Errorf("image %q is no image: %w", image, err)
	}
	if _, ok := ref.(reference.Digested); ok {
		return false, nil
	}
	tagged, ok := reference.TagNameOnly(ref).(reference.Tagged)
	return ok && tagged.Tag() == "latest", nil
}

// provide sees to it that the engine has the task's image. As in Nomad an
// image that is there is used, unless its tag is latest or force_pull is set;
// else it comes from the archive that load names, or from its registry.
func (i *images) provide(ctx context.Context, cli *client.Client, cfg *drivers.TaskConfig, c *taskConfig) error {
	ctx, done := whileWanted(ctx, cfg)
	defer done()
	if err := i.find(ctx, cli, cfg, c); err != nil {
		return causeOr(ctx, err)
	}
	return nil
}

func (i *images) find(ctx context.Context, cli *client.Client, cfg *drivers.TaskConfig, c *taskConfig) error {
	latest, err := isLatest(c.Image)
	if err != nil {
		return err
	}
	unlock, err := i.lock(ctx, c.Image)
	if err != nil {
		return err
	}
	defer unlock()
	here := false
	if !c.ForcePull {
		_, err := cli.ImageInspect(ctx, c.Image)
		if err != nil && !errdefs.IsNotFound(err) {
			return engineError(fmt.Sprintf("cannot look for image %q", c.Image), err)
		}
		if here = err == nil; here && !latest {
			return nil
		}
	}
	if c.Load != "" {
		return loadImage(ctx, cli, cfg, c)
	}
	err = i.pull(ctx, cli, cfg, c)
	if err != nil && here && ctx.Err() == nil {
		i.events.emit(cfg, fmt.Sprintf("Using the image %s that is here: %v", c.Image, err), map[string]string{"image": c.Image})
		return nil
	}
	return err
}

// whileWanted returns a context that also ends when the task is to be stopped.
func whileWanted(ctx context.Context, cfg *drivers.TaskConfig) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-cfg.Unwanted:
			cancel(drivers.ErrUnwanted)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// loadImage gives the engine the archive that the task brought with it.
func loadImage(ctx context.Context, cli *client.Client, cfg *drivers.TaskConfig, c *taskConfig) error {
	root, err := os.OpenRoot(cfg.TaskDir())
	if err != nil {
		return fmt.Errorf("cannot load image %q: %w", c.Image, err)
	}
	defer root.Close()
	// The task may have put anything there in an earlier run: a FIFO must not
	// block.
	archive, err := root.OpenFile("local/"+strings.TrimPrefix(c.Load, "/"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("cannot load image %q: %w", c.Image, err)
	}
	defer archive.Close()
	if info, err := archive.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(fmt.Errorf("cannot load image %q: %q is no regular file", c.Image, c.Load), err)
	}
	loaded, err := cli.ImageLoad(ctx, archive, client.ImageLoadWithQuiet(true))
	if err != nil {
		return engineError(fmt.Sprintf("cannot load image %q from %q", c.Image, c.Load), err)
	}
	err = drainMessages(loaded)
	_ = loaded.Close()
	if err != nil {
		return fmt.Errorf("cannot load image %q from %q: %w", c.Image, c.Load, err)
	}
	if _, err := cli.ImageInspect(ctx, c.Image); err != nil {
		return engineError(fmt.Sprintf("image %q is not in %q", c.Image, c.Load), err)
	}
	return nil
}
