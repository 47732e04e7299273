// Package artifact is the task hook that downloads a task's artifacts before
// its first start: by http(s), with git, or from this machine. It unpacks
// archives. See
// https://developer.hashicorp.com/nomad/docs/job-specification/artifact.
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

// atOnce is how many artifacts of a task are downloaded concurrently.
const atOnce = 3

// New returns a factory of hooks. Tasks without artifacts get none.
func New(cfg Config) hooks.TaskFactory {
	return func(t hooks.Task) hooks.TaskHook {
		if len(t.Task.Artifacts) == 0 {
			return nil
		}
		return &hook{fetcher: fetcher{cfg: cfg.withDefaults(), task: t}, got: make([]bool, len(t.Task.Artifacts))}
	}
}

type hook struct {
	fetcher
	got []bool // by artifact: already downloaded
}

func (h *hook) Name() string { return "artifacts" }

// Prestart downloads the artifacts that are missing. It tries all of them.
// Every failure is recoverable, so that the restart policy applies.
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
				errs[i] = fmt.Errorf("failed to download artifact %q: %s", o.shown, o.secrets.clean(reason(err).Error()))
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
