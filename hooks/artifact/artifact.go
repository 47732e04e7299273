// Package artifact is the task hook that downloads a task's artifacts before
// its first start: by http(s), with git, or from this machine, unpacked if they
// are archives.
// See https://developer.hashicorp.com/nomad/docs/job-specification/artifact.
package artifact

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/hooks"
)

// atOnce is how many artifacts of a task are downloaded side by side.
const atOnce = 3

// Config is what a download may take. The zero value of a field means Nomad's
// default of the client's artifact block
// (https://developer.hashicorp.com/nomad/docs/configuration/client#artifact-parameters).
type Config struct {
	HTTPReadTimeout time.Duration // for the whole of a file; 30m
	HTTPMaxSize     int64         // of a file, in bytes; 100 GB
	GitTimeout      time.Duration // 30m
	UnpackedSize    int64         // of all files in an archive, in bytes; 100 GB
	UnpackedFiles   int           // in an archive; 4096
}

func (c Config) withDefaults() Config {
	const nomadTime, nomadSize = 30 * time.Minute, 100_000_000_000
	set(&c.HTTPReadTimeout, nomadTime)
	set(&c.GitTimeout, nomadTime)
	set(&c.HTTPMaxSize, nomadSize)
	set(&c.UnpackedSize, nomadSize)
	set(&c.UnpackedFiles, 4096)
	return c
}

func set[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}

// deadline is how long an artifact may take with all that belongs to it.
func (c Config) deadline() time.Duration {
	return max(30*time.Minute, c.HTTPReadTimeout, c.GitTimeout) + time.Minute
}

// New returns what makes the hook of a task; it makes none for a task without
// artifacts.
func New(cfg Config) hooks.TaskFactory {
	return func(t hooks.Task) hooks.TaskHook {
		if len(t.Task.Artifacts) == 0 {
			return nil
		}
		return &hook{cfg: cfg.withDefaults(), task: t, got: make([]bool, len(t.Task.Artifacts))}
	}
}

type hook struct {
	cfg    Config
	task   hooks.Task
	got    []bool     // by artifact; those are not downloaded again
	moving sync.Mutex // held while a result is moved to its place
}

func (h *hook) Name() string { return "artifacts" }

// Prestart downloads what is not there yet. All are tried; any failure can be
// recovered from, so that the restart policy applies.
func (h *hook) Prestart(ctx context.Context, req *hooks.PrestartRequest, resp *hooks.PrestartResponse) error {
	h.task.Emit(event.DownloadingArtifacts())
	under := progress{publish: func(body event.Body) { h.task.Publish(time.Now(), body) }}
	done := make(chan struct{})
	var reporter, downloads sync.WaitGroup
	reporter.Go(func() { under.report(done) })
	errs := make([]error, len(h.got))
	places := make(chan struct{}, atOnce)
	for i, a := range h.task.Task.Artifacts {
		if h.got[i] {
			continue
		}
		places <- struct{}{}
		downloads.Go(func() {
			defer func() { <-places }()
			o, err := newOrder(a, req.Env)
			if err == nil {
				m := under.add(o.shown)
				defer under.remove(m)
				err = h.fetch(ctx, o, m)
			}
			if h.got[i] = err == nil; err != nil {
				errs[i] = fmt.Errorf("failed to download artifact %q: %s", o.shown, o.clean(reason(err).Error()))
			}
		})
	}
	downloads.Wait()
	close(done)
	reporter.Wait()
	if err := errors.Join(errs...); err != nil {
		return drivers.Recoverable(&hooks.EventError{Event: event.ArtifactDownloadFailed(err), Err: err})
	}
	resp.Done = true
	return nil
}
