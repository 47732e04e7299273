package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"

	"taskrun/drivers"
)

const (
	// stallTime is after how long without any progress a pull is given up,
	// Nomad's default of pull_activity_timeout.
	stallTime = 2 * time.Minute
	// reportPeriod is how often the progress of a pull is told. Nomad's is two
	// minutes: nobody watches a cluster.
	reportPeriod = 10 * time.Second
)

// pull fetches the task's image from its registry.
func (d *Driver) pull(ctx context.Context, cli *client.Client, cfg *drivers.TaskConfig, c *taskConfig) error {
	failed := func(err error) error {
		if context.Cause(ctx) != nil {
			return context.Cause(ctx)
		}
		return drivers.Recoverable(fmt.Errorf("Failed to pull `%s`: %w", c.Image, err)) //nolint:staticcheck // Nomad's words
	}
	auth, err := d.authFor(ctx, c)
	if err != nil {
		return drivers.Recoverable(fmt.Errorf("Failed to find docker auth for repo %q: %w", c.Image, err)) //nolint:staticcheck // Nomad's words
	}
	d.emit(cfg, "Downloading image", map[string]string{"image": c.Image})
	pullCtx, cancel := context.WithTimeoutCause(ctx, c.ImagePullTimeout, fmt.Errorf("it took longer than the image_pull_timeout of %v", c.ImagePullTimeout))
	defer cancel()
	pullCtx, stalled := context.WithCancelCause(pullCtx)
	defer stalled(nil)
	stall := time.AfterFunc(stallTime, func() { stalled(errNoProgress) })
	defer stall.Stop()

	stream, err := cli.ImagePull(pullCtx, c.Image, client.ImagePullOptions{RegistryAuth: auth})
	if err != nil {
		return failed(causeOr(pullCtx, err))
	}
	defer stream.Close()
	progress, next := newProgress(), time.Now().Add(reportPeriod)
	for message, err := range stream.JSONMessages(pullCtx) {
		if err == nil && message.Error != nil {
			err = message.Error
		}
		if err != nil {
			return failed(causeOr(pullCtx, err))
		}
		stall.Reset(stallTime)
		progress.add(message)
		if now := time.Now(); now.After(next) {
			next = now.Add(reportPeriod)
			d.emit(cfg, "Docker image pull progress: "+progress.String(), map[string]string{"image": c.Image})
		}
	}
	if err := context.Cause(pullCtx); err != nil {
		return failed(err)
	}
	return nil
}

// causeOr returns why ctx has ended, or err when it has not.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// progress is how far the layers of an image are.
type progress struct {
	layers map[string]layer
}

type layer struct {
	current, total int64 // bytes
	done           bool
}

func newProgress() *progress { return &progress{layers: map[string]layer{}} }

// add takes in a message of the engine. Only those of downloads have sizes
// that mean something.
func (p *progress) add(m jsonstream.Message) {
	l, known := p.layers[m.ID]
	switch m.Status {
	case "Pulling fs layer", "Waiting":
	case "Downloading":
		if m.Progress != nil {
			l.current, l.total = m.Progress.Current, m.Progress.Total
		}
	case "Download complete", "Pull complete", "Already exists":
		l.current, l.done = l.total, true
	default:
		if !known {
			return // about the image as a whole
		}
	}
	p.layers[m.ID] = l
}

// String returns a line such as "3 of 5 layers, 12.4 of 50.0 MB".
func (p *progress) String() string {
	var done int
	var current, total int64
	for _, l := range p.layers {
		current, total = current+l.current, total+l.total
		if l.done {
			done++
		}
	}
	const mb = 1e6
	return fmt.Sprintf("%d of %d layers, %.1f of %.1f MB", done, len(p.layers), float64(current)/mb, float64(total)/mb)
}

// drainMessages reads what the engine says until the end, or an error.
func drainMessages(r io.Reader) error {
	for decoder := json.NewDecoder(r); ; {
		var m jsonstream.Message
		switch err := decoder.Decode(&m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case m.Error != nil:
			return m.Error
		}
	}
}
