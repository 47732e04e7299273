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

// backTime limits the time for an engine that has died to come back, and
// backPause is the pause between two checks.
const (
	backTime  = 15 * time.Second
	backPause = 20 * time.Millisecond
)

// Local returns the engine that listens at a socket. If it dies, its keeper
// starts another one.
func Local(socket string) (*client.Server, error) {
	s, err := client.Local(socket)
	if err == nil {
		s.Back = func(ctx context.Context) bool { return comesBack(ctx, socket) }
	}
	return s, err
}

// comesBack waits until an engine answers at a socket, and reports whether one
// does. None does if the run is over or its keeper has failed.
func comesBack(ctx context.Context, socket string) bool {
	live, _ := engines(ctx, filepath.Dir(socket), func(path string) bool { return path == socket }) // none, if there is an error
	return slices.Contains(live, socket)
}

// busy reports whether an error is a timeout, as on a busy machine: the engine
// may answer next time.
func busy(err error) bool {
	slow, ok := errors.AsType[net.Error](err)
	return ok && slow.Timeout()
}

// Servers returns the engines that answer at sockets in a directory. It waits
// for engines that a keeper is restarting.
func Servers(ctx context.Context, dir string) ([]*client.Server, error) {
	live, err := engines(ctx, dir, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	servers := make([]*client.Server, len(live))
	for i, socket := range live {
		if servers[i], err = Local(socket); err != nil {
			return nil, err
		}
	}
	return servers, nil
}

// engines returns the sockets in a directory at which an engine answers, and
// waits for wanted ones that have a keeper. It polls because there is no event
// to wait for: neither an engine that starts to listen at its socket nor a
// keeper that releases its lock changes a file in the directory.
func engines(ctx context.Context, dir string, wanted func(socket string) bool) ([]string, error) {
	for deadline := time.Now().Add(backTime); ; {
		kept := keeper.Sockets(dir)
		live, err := httpapi.Find(dir)
		missing := func(path string) bool { return wanted(path) && !slices.Contains(live, path) }
		if !busy(err) && (err != nil || !slices.ContainsFunc(kept, missing)) || time.Now().After(deadline) {
			return live, err
		}
		select {
		case <-time.After(backPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
