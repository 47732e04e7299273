package cmd

import (
	"context"

	"taskrun/cmd/ui"
)

// jobEnd returns when jobs of the run have ended: how the whole run did, or nil
// when others of it go on.
func (f *followed) jobEnd(ctx context.Context, jobs []string) (*ui.Summary, error) {
	if len(jobs) == len(f.jobs) {
		return f.run(ctx, nil)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	alone := make(chan bool, 1)
	go func() {
		ended := f.server.AwaitEnd(ctx, jobs)
		alone <- ended
		if ended {
			cancel()
		}
	}()
	summary, err := f.run(ctx, nil)
	cancel()
	if <-alone {
		return nil, nil
	}
	return summary, err
}
