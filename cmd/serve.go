package cmd

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"taskrun/engine"
	"taskrun/engine/httpapi"
)

// closeTime is how long clients may take to notice that the engine has ended.
const closeTime = time.Second

// lingerTime is how long a run in the background goes on serving clients that read
// its output. taskrun's own clients read the files.
const lingerTime = 30 * time.Second

// serveRun serves the engine as Nomad's HTTP API at a socket for this user alone,
// and at a port if there is one, once begin is called: earlier clients would see a
// run without jobs. Without a socket the run goes on, and the warning says why
// there is none. The sockets of tasks are served from the start. The caller must
// call end when the engine is closed.
func serveRun(a *app, e *engine.Engine, name string, port net.Listener, cfg httpapi.Config) (server *httpapi.Server, socket, warning string, begin, end func()) {
	var listener net.Listener
	dir, err := a.sockets()
	if err == nil {
		listener, socket, err = httpapi.Listen(dir, name)
	}
	if err != nil {
		warning = fmt.Sprintf("other programs cannot talk to this run: %v", err)
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
				serving.Go(func() { _ = server.Serve(l) }) // what it could not accept, a client was told
			}
		})
	}
	return server, socket, warning, begin, func() {
		once.Do(func() {}) // from now on it does not begin
		ctx, cancel := context.WithTimeout(context.Background(), closeTime+cfg.Linger)
		defer cancel()
		_ = server.Shutdown(ctx) // clients that are still there are cut off
		for _, l := range listeners {
			_ = l.Close() // that is done, unless it never began
		}
		serving.Wait()
		if dir == "" {
			return
		}
		_, _ = httpapi.Find(dir) // which clears away what dead engines left
	}
}

// listenHTTP listens at a port for those tools of Nomad that know no sockets,
// and tells the user its address and its token: here and nowhere else.
func listenHTTP(a *app, addr string) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	l, token, err := httpapi.ListenTCP(addr)
	if err != nil {
		return nil, usageError("--http: %w", err)
	}
	fmt.Fprintf(a.streams.Err, "Nomad's tools can talk to this run:\n  export NOMAD_ADDR=http://%s NOMAD_TOKEN=%s\n", l.Addr(), token)
	return l, nil
}
