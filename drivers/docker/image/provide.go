package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
	"taskrun/drivers/docker/settings"
)

// Provide returns once the engine has the task's image. As in Nomad, an image
// that the engine already has is used, unless its tag is latest or force_pull
// is set. Otherwise it comes from the archive in the option load, or from its
// registry.
func (s *Store) Provide(ctx context.Context, cli *client.Client, cfg *drivers.TaskConfig, c *settings.Config) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-cfg.Unwanted:
			cancel(drivers.ErrUnwanted)
		case <-ctx.Done():
		}
	}()
	if err := s.find(ctx, cli, cfg, c); err != nil {
		return causeOr(ctx, err)
	}
	return nil
}

func (s *Store) find(ctx context.Context, cli *client.Client, cfg *drivers.TaskConfig, c *settings.Config) error {
	latest, err := isLatest(c.Image)
	if err != nil {
		return err
	}
	unlock, err := s.lock(ctx, c.Image)
	if err != nil {
		return err
	}
	defer unlock()
	here := false
	if !c.ForcePull {
		_, err := cli.ImageInspect(ctx, c.Image)
		if err != nil && !errdefs.IsNotFound(err) {
			return daemon.Error(fmt.Sprintf("cannot look for image %q", c.Image), err)
		}
		if here = err == nil; here && !latest {
			return nil
		}
	}
	if c.Load != "" {
		return loadImage(ctx, cli, cfg, c)
	}
	err = s.pull(ctx, cli, cfg, c)
	if err != nil && here && ctx.Err() == nil {
		s.tell(cfg, c.Image, fmt.Sprintf("Using the image %s that is here: %v", c.Image, err))
		return nil
	}
	return err
}

// isLatest reports whether the name of an image can refer to another image
// later.
func isLatest(image string) (bool, error) {
	ref, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return false, fmt.Errorf("image %q is not an image: %w", image, err)
	}
	if _, ok := ref.(reference.Digested); ok {
		return false, nil
	}
	tagged, ok := reference.TagNameOnly(ref).(reference.Tagged)
	return ok && tagged.Tag() == "latest", nil
}

// loadImage loads the archive that the option load names.
func loadImage(ctx context.Context, cli *client.Client, cfg *drivers.TaskConfig, c *settings.Config) error {
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
		return errors.Join(fmt.Errorf("cannot load image %q: %q is not a regular file", c.Image, c.Load), err)
	}
	loaded, err := cli.ImageLoad(ctx, archive, client.ImageLoadWithQuiet(true))
	if err != nil {
		return daemon.Error(fmt.Sprintf("cannot load image %q from %q", c.Image, c.Load), err)
	}
	err = drainMessages(loaded)
	_ = loaded.Close()
	if err != nil {
		return fmt.Errorf("cannot load image %q from %q: %w", c.Image, c.Load, err)
	}
	if _, err := cli.ImageInspect(ctx, c.Image); err != nil {
		return daemon.Error(fmt.Sprintf("image %q is not in %q", c.Image, c.Load), err)
	}
	return nil
}
