// Package httpapi serves a running engine as Nomad's HTTP API
// (https://developer.hashicorp.com/nomad/api-docs), so that the nomad command,
// its Go client and all tools built on them work with a local run.
//
// This package decides which requests are accepted, and has the table of
// routes. Each resource is served by a package below, which knows no other
// resource: it reads a request with rest, queries the engine and tracker, and
// describes the result with render. A new path is a method of its resource's
// Handler and a row in routes.go.
//
// A path that is not served is not found; no response claims a success that did
// not happen.
package httpapi

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"taskrun/engine"
	"taskrun/engine/httpapi/node"
	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/httpapi/tracker"
	"taskrun/engine/leaf/workload"
)

// Limits of the size and time of requests.
const (
	maxHeader  = 64 << 10 // bytes
	headerTime = 10 * time.Second
	idleTime   = 2 * time.Minute
)

// answerTime is how long pending responses may take when the server ends.
const answerTime = time.Second

// Server serves an engine. Its methods are safe for concurrent use.
type Server struct {
	engine *engine.Engine
	cfg    Config
	http   http.Server
	ctx    context.Context // done: streams and sessions end
	cancel context.CancelCauseFunc

	routes   []route
	answers  *rest.Answers
	tracker  *tracker.Tracker
	requests node.Requests

	mu       sync.Mutex
	closed   bool           // requests are refused, so that nothing is added to handling while it is waited for
	handling sync.WaitGroup // over requests, also of connections that net/http has closed or no longer knows
}

// New returns a server of an engine, and follows the engine's events from then
// on: call it before Submit. The caller must call Shutdown.
func New(e *engine.Engine, cfg Config) *Server {
	if cfg.Keys == nil {
		cfg.Keys = workload.NewKeyring()
	}
	if cfg.Node.Pool != "" {
		e.Registry().AddPool(cfg.Node.Pool, "")
	}
	s := &Server{engine: e, cfg: cfg, answers: rest.NewAnswers(), tracker: tracker.New(e, cfg.Node.ID)}
	run := &render.Run{Engine: e, Tracker: s.tracker, Machine: cfg.Node, Keys: cfg.Keys, Began: time.Now(), Resident: e.Resident(), HostVolumes: cfg.HostVolumes}
	s.routes = routes(run, &s.cfg, &s.requests)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.http = http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       s.context,
		ConnContext:       keepConn,

		DisableGeneralOptionsHandler: true,                       // there are no options
		ErrorLog:                     log.New(io.Discard, "", 0), // errors of clients are not part of a run's output
	}
	return s
}

// Serve serves connections until Shutdown, which makes it return nil. It closes
// the listener. The listener must admit only the user, like that of Listen or
// ListenTCP: clients can run commands. Serve may be called for several
// listeners.
func (s *Server) Serve(l net.Listener) error {
	limited := withLimit(l, connections())
	defer limited.refused.Wait()
	if err := s.http.Serve(limited); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeTask serves a task at its socket until the listener is closed. A request
// has the rights of the workload identity whose token it carries, and none
// without a token. When ServeTask returns, no connection is left.
func (s *Server) ServeTask(l net.Listener) {
	t := &taskListener{limitedListener: withLimit(l, connectionsPerTask), open: map[net.Conn]bool{}}
	_ = s.http.Serve(t)
	_ = t.Close()
	t.closed.Wait()
	t.refused.Wait()
}

// context returns the context of the requests of a listener.
func (s *Server) context(l net.Listener) context.Context {
	if limited, ok := l.(*limitedListener); ok {
		l = limited.Listener
	}
	switch l := l.(type) {
	case *tokenListener:
		return context.WithValue(s.ctx, tokenKey{}, l.token)
	case *taskListener:
		return context.WithValue(s.ctx, taskKey{}, true)
	default:
		return s.ctx
	}
}

// Shutdown ends the server: it accepts no connections, commands end at once,
// and other responses within a second, or as long as they may linger. It
// returns when nothing is left, or with an error when ctx ends first.
func (s *Server) Shutdown(ctx context.Context) error {
	s.cancel(rest.ErrShutdown)
	err := s.shutdownHTTP(ctx)
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.handling.Wait()
		s.tracker.Close()
	}()
	select {
	case <-ended:
		return err
	case <-ctx.Done():
		return errors.Join(err, context.Cause(ctx))
	}
}

func (s *Server) shutdownHTTP(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(answerTime, s.cfg.Linger))
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return s.http.Close()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		rest.WriteError(w, rest.ErrShutdown)
		return
	}
	defer s.handling.Done()
	if err := s.serve(w, r); err != nil {
		rest.WriteError(w, err)
	}
}

// begin adds a request to those that Shutdown waits for, unless Shutdown has
// started to wait.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.handling.Add(1)
	}
	return !s.closed
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) error {
	if r.Body != http.NoBody {
		// Before anything refuses the request: net/http then reads the rest of
		// the body, and would wait for it.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(rest.BodyTime))
	}
	caller, err := callerOf(r, s.cfg.Keys, s.engine)
	if err != nil {
		return err
	}
	if caller == nil { // otherwise the client cannot be a web page
		if err := refusePages(r, s.cfg.AllowHosts); err != nil {
			return err
		}
	}
	if err := checkToken(r); err != nil {
		return err
	}
	if err := admit(r); err != nil {
		return err
	}
	if caller == nil && s.cfg.Seen != nil {
		s.cfg.Seen()
	}
	if to := cleaned(r.URL); to != "" {
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		return nil
	}
	began := time.Now()
	defer func() { s.requests.Ended(r.Method, r.URL.EscapedPath(), began) }()
	route, id, err := find(s.routes, r.Method, r.URL.Path)
	if err != nil {
		return err
	}
	req := s.answers.Request(w, r, id)
	req.Apart = s.engine.Resident()
	if err := s.checkRegion(req); err != nil {
		return err
	}
	if caller != nil {
		if req.MayRead = caller.mayRead; !caller.may(route.path, req) {
			return rest.ErrDenied
		}
	}
	return route.handler(req)
}

// refusePages refuses requests that only web pages send: a page must not be
// able to read a run or start a process, not even through a name that resolves
// to this machine.
func refusePages(r *http.Request, allowed []string) error {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	switch host {
	case "127.0.0.1", "localhost", "[::1]", "::1":
	default:
		if !slices.Contains(allowed, host) {
			return rest.ErrDenied
		}
	}
	if r.Header.Get("Origin") != "" {
		return rest.ErrDenied
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return nil
	default:
		return rest.ErrDenied
	}
}

func (s *Server) checkRegion(r *rest.Request) error {
	switch region := r.Query.Get("region"); region {
	case "", "global", s.cfg.Node.Region:
		return nil
	default:
		return rest.Fail(http.StatusInternalServerError, "No path to region")
	}
}
