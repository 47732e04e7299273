package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"taskrun/drivers"
	"taskrun/drivers/docker/settings"
)

// pull downloads the task's image from its registry.
func (s *Store) pull(ctx context.Context, cli *client.Client, cfg *drivers.TaskConfig, c *settings.Config) error {
	failed := func(err error) error {
		return drivers.Recoverable(fmt.Errorf("Failed to pull `%s`: %w", c.Image, err)) //nolint:staticcheck // Nomad's words
	}
	pullCtx, cancel := context.WithTimeoutCause(ctx, c.ImagePullTimeout, fmt.Errorf("it took longer than the image_pull_timeout of %v", c.ImagePullTimeout))
	defer cancel()
	auth, err := authFor(pullCtx, s.Options.Auth, c)
	if err != nil {
		return drivers.Recoverable(fmt.Errorf("Failed to find docker auth for repo %q: %w", c.Image, causeOr(pullCtx, err))) //nolint:staticcheck // Nomad's words
	}
	s.tell(cfg, c.Image, "Downloading image")
	pullCtx, stalled := context.WithCancelCause(pullCtx)
	defer stalled(nil)
	patience := s.Options.PullActivityTimeout
	stall := time.AfterFunc(patience, func() { stalled(fmt.Errorf("nothing arrived for the pull_activity_timeout of %v", patience)) })
	defer stall.Stop()

	stream, err := cli.ImagePull(pullCtx, c.Image, client.ImagePullOptions{RegistryAuth: auth, Platforms: platforms(c.Platform)})
	if err != nil {
		return failed(causeOr(pullCtx, err))
	}
	defer stream.Close()
	progress := newProgress(c.Image)
	defer s.report(cfg, progress)()
	for message, err := range stream.JSONMessages(pullCtx) {
		if err == nil && message.Error != nil {
			err = message.Error
		}
		if err != nil {
			return failed(causeOr(pullCtx, err))
		}
		stall.Reset(patience)
		progress.add(message)
	}
	if err := context.Cause(pullCtx); err != nil {
		return failed(err)
	}
	return nil
}

// platforms returns the platform to pull an image for; none: that of the engine.
func platforms(text string) []ocispec.Platform {
	if text == "" {
		return nil
	}
	part := append(strings.SplitN(text, "/", 3), "", "")
	return []ocispec.Platform{{OS: part[0], Architecture: part[1], Variant: part[2]}}
}

// causeOr returns the cause if ctx has ended, otherwise err.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// loadedImage reads messages of the engine until their end or an error, and
// returns the name of the last image that they say was loaded.
func loadedImage(r io.Reader) (name string, err error) {
	for decoder := json.NewDecoder(r); ; {
		var m jsonstream.Message
		switch err := decoder.Decode(&m); {
		case errors.Is(err, io.EOF):
			return name, nil
		case err != nil:
			return "", err
		case m.Error != nil:
			return "", m.Error
		}
		for line := range strings.Lines(m.Stream) {
			if text, ok := strings.CutPrefix(line, "Loaded image"); ok {
				_, name, _ = strings.Cut(text, ": ") // "Loaded image: NAME" or "Loaded image ID: ID"
				name = strings.TrimSpace(name)
			}
		}
	}
}
