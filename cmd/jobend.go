package cmd

import (
	"context"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
	"taskrun/engine/event"
)

// jobEnd returns when jobs of the run have ended: how the whole run did, or nil
// when others of it go on.
func (f *followed) jobEnd(ctx context.Context, jobs []string) (*ui.Summary, error) {
	if len(jobs) == len(f.jobs) {
		return f.run(ctx, nil)
	}
	past, err := f.past()
	if err != nil {
		return nil, err
	}
	live := map[string]*event.Alloc{}
	observe := func(e event.Event) (ended bool) {
		s, ok := e.Body.(event.AllocStatus)
		if !ok {
			return false
		}
		live[e.Alloc.ID] = e.Alloc
		if s.Status == api.AllocClientStatusComplete || s.Status == api.AllocClientStatusFailed {
			delete(live, e.Alloc.ID)
		}
		for _, a := range live {
			for _, job := range jobs {
				if a.Of(job) {
					return false
				}
			}
		}
		return len(live) > 0 // else the run ends
	}
	ended := false
	for _, e := range past {
		ended = observe(e)
	}
	if ended {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := f.bus.Subscribe(false)
	over := make(chan bool, 1)
	go func() {
		defer events.Close()
		ended := false
		for e, ok := events.Next(ctx); ok && !ended; e, ok = events.Next(ctx) {
			ended = observe(e)
		}
		over <- ended
		cancel()
	}()
	summary, err := f.run(ctx, nil)
	cancel()
	if <-over {
		return nil, nil
	}
	return summary, err
}
