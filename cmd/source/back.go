package source

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"time"

	"taskrun/cmd/client"
	"taskrun/drivers/process/keeper"
	"taskrun/engine/httpapi"
)

// How long an engine may take to come back when it has died, and how often is
// looked for it.
const (
	backTime  = 15 * time.Second
	backPause = 20 * time.Millisecond
)

// Local returns the engine that listens at a socket. When it dies, its keeper
// starts another one.
func Local(socket string) (*client.Server, error) {
	s, err := client.Local(socket)
	if err == nil {
		s.Back = func(ctx context.Context) bool { return comesBack(ctx, socket) }
	}
	return s, err
}

// comesBack waits until an engine answers at a socket, and reports whether one
// does: not when the run is over, or its keeper cannot help.
func comesBack(ctx context.Context, socket string) bool {
	dir := filepath.Dir(socket)
	for deadline := time.Now().Add(backTime); ; {
		kept := keeper.Keeps(dir, socket)
		live, err := httpapi.Find(dir)
		switch {
		case slices.Contains(live, socket):
			return true
		case !busy(err) && (err != nil || !kept), time.Now().After(deadline):
			return false
		}
		select {
		case <-time.After(backPause): // the keeper starts another engine, or cleans up
		case <-ctx.Done():
			return false
		}
	}
}

// busy reports whether an error is that an engine did not answer in time, as on
// a machine with much to do. It may the next time.
func busy(err error) bool {
	var slow net.Error
	return errors.As(err, &slow) && slow.Timeout()
}

// Servers returns the engines that answer at sockets in a directory. Those that
// a keeper is about to start again are awaited.
func Servers(ctx context.Context, dir string) ([]*client.Server, error) {
	sockets, err := liveSockets(ctx, dir)
	if err != nil {
		return nil, err
	}
	servers := make([]*client.Server, len(sockets))
	for i, socket := range sockets {
		if servers[i], err = Local(socket); err != nil {
			return nil, err
		}
	}
	return servers, nil
}

func liveSockets(ctx context.Context, dir string) ([]string, error) {
	for deadline := time.Now().Add(backTime); ; {
		kept := keeper.Sockets(dir)
		live, err := httpapi.Find(dir)
		missing := slices.DeleteFunc(kept, func(path string) bool { return slices.Contains(live, path) })
		if !busy(err) && (err != nil || len(missing) == 0) || time.Now().After(deadline) {
			return live, err
		}
		select {
		case <-time.After(backPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
