package cmd

import (
	"context"
	"fmt"
	"os"
	"time"

	"taskrun/engine"
	"taskrun/engine/httpapi"
	"taskrun/jobspec/taskenv"
)

// closeTime is how long clients may take to notice that the engine has ended.
const closeTime = time.Second

// serve serves the engine as Nomad's HTTP API on a socket for this user alone,
// and returns its path. A run without a socket is a run all the same: the
// warning says why there is none. stop must be called when the engine is
// closed.
func (a *app) serve(e *engine.Engine, node *taskenv.Node, job string) (socket, warning string, stop func()) {
	dir := httpapi.Dir(a.streams.Env, os.Geteuid())
	listener, socket, err := httpapi.Listen(dir, httpapi.SocketName(job, os.Getpid()))
	if err != nil {
		return "", fmt.Sprintf("other programs cannot talk to this run: %v", err), func() {}
	}
	server := httpapi.New(e, httpapi.Config{Node: node, Version: currentVersion().Version})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // what it could not accept, a client was told
	}()
	return socket, "", func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		_ = server.Shutdown(ctx) // whoever is not gone by then is cut off
		<-done
		_, _ = httpapi.Find(dir) // which clears away what dead engines left
	}
}
