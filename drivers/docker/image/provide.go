package image

import (
	"cmp"
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
	unlock, err := s.lock(ctx, cmp.Or(c.Image, c.Archive, c.Load))
	if err != nil {
		return err
	}
	defer unlock()
	if c.Image == "" { // an archive has the name
		return loadImage(ctx, cli, cfg, c)
	}
	latest, err := isLatest(c.Image)
	if err != nil {
		return err
	}
	here := false
	if !c.ForcePull && c.Platform == "" {
		here, err = isHere(ctx, cli, c)
		if err != nil || here && (!latest || c.PreferLocal) {
			return err
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

// isHere reports whether the engine has the task's image, under one of its names.
// It sets that name.
func isHere(ctx context.Context, cli *client.Client, c *settings.Config) (bool, error) {
	for _, name := range append([]string{c.Image}, c.LocalNames...) {
		_, err := cli.ImageInspect(ctx, name)
		switch {
		case err == nil:
			c.Image = name
			return true, nil
		case !errdefs.IsNotFound(err):
			return false, daemon.Error(fmt.Sprintf("cannot look for image %q", name), err)
		}
	}
	return false, nil
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

// loadImage loads the task's archive. A task without the name of an image gets
// that of the archive.
func loadImage(ctx context.Context, cli *client.Client, cfg *drivers.TaskConfig, c *settings.Config) error {
	name := cmp.Or(c.Archive, c.Load)
	archive, err := openArchive(cfg, c)
	if err != nil {
		return fmt.Errorf("cannot load image %q: %w", c.Image, err)
	}
	defer archive.Close()
	if info, err := archive.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(fmt.Errorf("cannot load image %q: %q is not a regular file", c.Image, name), err)
	}
	loaded, err := cli.ImageLoad(ctx, archive, client.ImageLoadWithQuiet(true))
	if err != nil {
		return daemon.Error(fmt.Sprintf("cannot load image %q from %q", c.Image, name), err)
	}
	image, err := loadedImage(loaded)
	_ = loaded.Close()
	if err != nil {
		return fmt.Errorf("cannot load image %q from %q: %w", c.Image, name, err)
	}
	if c.Image == "" {
		c.Image = image
	}
	if _, err := cli.ImageInspect(ctx, c.Image); err != nil {
		return daemon.Error(fmt.Sprintf("image %q is not in %q", c.Image, name), err)
	}
	return nil
}

// openArchive opens an archive without waiting for its writer: a task may have
// put a FIFO there in an earlier run.
func openArchive(cfg *drivers.TaskConfig, c *settings.Config) (*os.File, error) {
	const mode = os.O_RDONLY | syscall.O_NONBLOCK
	if c.Archive != "" {
		return os.OpenFile(c.Archive, mode, 0)
	}
	root, err := os.OpenRoot(cfg.TaskDir())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile("local/"+strings.TrimPrefix(c.Load, "/"), mode, 0)
}
