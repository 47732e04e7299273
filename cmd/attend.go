package cmd

import (
	"context"
	"slices"
	"time"

	"taskrun/cmd/client"
	"taskrun/cmd/ui"
	"taskrun/drivers/process/keeper"
	"taskrun/engine/httpapi"
)

// backTime is how long an engine may take to come back when it has died.
const (
	backTime  = 15 * time.Second
	backPause = 20 * time.Millisecond
)

// attend returns when the run has ended, or with client.ErrGone when it was
// killed. Watch is called with a context for each engine of the run, one after
// the other, and has to return when that does not answer any more.
func (v *liveRun) attend(ctx context.Context, watch func(ctx context.Context)) error {
	for {
		watch(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		back, err := v.comesBack(ctx)
		if !back {
			return err
		}
	}
}

// comesBack reports whether an engine of the run answers, perhaps after a while.
// If not the run has ended, or the error says why it never will.
func (v *liveRun) comesBack(ctx context.Context) (bool, error) {
	back := comesBack(ctx, v.server.Socket)
	s, err := v.summary()
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case s != nil || err != nil:
		return false, err
	case !back:
		return false, client.ErrGone
	}
	return true, nil
}

// local returns the engine at a socket. When that dies its keeper starts
// another one.
func local(socket string) (*client.Server, error) {
	s, err := client.Local(socket)
	if err == nil {
		s.Back = func(ctx context.Context) bool { return comesBack(ctx, socket) }
	}
	return s, err
}

// comesBack waits until an engine answers at a socket, and reports whether one
// does: not when the run is over, or its keeper cannot help.
func comesBack(ctx context.Context, socket string) bool {
	dir := recordDir(socket)
	for deadline := time.Now().Add(backTime); ; {
		kept := keeper.Keeps(dir, socket)
		live, err := httpapi.Find(dir)
		if err != nil || slices.Contains(live, socket) {
			return err == nil
		}
		if !kept || time.Now().After(deadline) {
			return false
		}
		select {
		case <-time.After(backPause): // the keeper starts another engine, or cleans up
		case <-ctx.Done():
			return false
		}
	}
}

// summary is how the run ended, nil when it has not.
func (v *liveRun) summary() (*ui.Summary, error) {
	var first *ui.Summary
	for _, job := range v.jobs {
		s, err := readSummary(v.self.Runs[job])
		if s == nil || err != nil {
			return nil, err
		}
		first = s
	}
	return first, nil
}

// liveSockets returns the sockets at which engines answer. Those that a keeper
// is about to start again are waited for.
func (a *app) liveSockets(ctx context.Context, dir string) ([]string, error) {
	for deadline := time.Now().Add(backTime); ; {
		kept := keeper.Sockets(dir)
		live, err := httpapi.Find(dir)
		missing := slices.DeleteFunc(kept, func(path string) bool { return slices.Contains(live, path) })
		if err != nil || len(missing) == 0 || time.Now().After(deadline) {
			return live, err
		}
		select {
		case <-time.After(backPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
