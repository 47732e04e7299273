package host

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"taskrun/cmd/lookup"
	"taskrun/engine"
	"taskrun/engine/httpapi"
)

// closeTime limits how long clients may take to notice the end of the engine.
const closeTime = time.Second

// LingerTime is how long a run in the background continues to serve clients that
// read its output. taskrun's own clients read the files.
const LingerTime = 30 * time.Second

// Serve serves the engine as Nomad's HTTP API at a socket that only this user can
// reach, and at a port if port is not nil. It accepts clients only after begin,
// because earlier ones would see a run without jobs; it serves the sockets of tasks
// from the start. The run continues without a socket if that fails, and the warning
// says why. The caller must call end once the engine is closed.
func Serve(runs *lookup.Finder, e *engine.Engine, name string, port net.Listener, cfg httpapi.Config) (server *httpapi.Server, socket, warning string, begin, end func()) {
	var listener net.Listener
	dir, err := runs.Sockets()
	if err == nil {
		listener, socket, err = httpapi.Listen(dir, name)
	}
	if err != nil {
		warning = fmt.Sprintf("other commands cannot reach this engine: %v", err)
	}
	var listeners []net.Listener
	if err == nil {
		listeners = append(listeners, listener)
	}
	if port != nil {
		listeners = append(listeners, port)
	}
	server = httpapi.New(e, cfg)
	var serving sync.WaitGroup
	var once sync.Once
	begin = func() {
		once.Do(func() {
			for _, l := range listeners {
				serving.Go(func() { _ = server.Serve(l) }) // a rejected client got an error
			}
		})
	}
	return server, socket, warning, begin, func() {
		once.Do(func() {}) // begin has no effect from now on
		ctx, cancel := context.WithTimeout(context.Background(), closeTime+cfg.Linger)
		defer cancel()
		_ = server.Shutdown(ctx) // cuts off clients that are still connected
		for _, l := range listeners {
			_ = l.Close() // already closed, unless begin was never called
		}
		serving.Wait()
		if dir == "" {
			return
		}
		_, _ = httpapi.Find(dir) // Find also removes the sockets of dead engines
	}
}

// PortDir returns where the runs of this user share their claims on ports, in the
// directory of their sockets. Without one they share none.
func PortDir(sockets string) string {
	if sockets == "" {
		return ""
	}
	return filepath.Join(sockets, "ports")
}

// PlaceTime limits how long clients wait until the first allocations are placed.
const PlaceTime = 5 * time.Second
