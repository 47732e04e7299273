// Package client talks to running engines and to Nomad clusters through Nomad's
// HTTP API. It lists their tasks, finds those that a user names, changes jobs,
// and opens sessions and outputs.
//
// It prints nothing and reads no environment variables.
package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// The time limits of requests. An engine of this machine answers within
// milliseconds unless it is suspended.
const (
	localTime   = 2 * time.Second
	clusterTime = 30 * time.Second
)

// Server is a running engine or a Nomad cluster.
type Server struct {
	API     *api.Client
	Socket  string // of an engine; empty for a cluster
	Address string // of a cluster, without a password; empty for an engine
	// Back waits until another engine replaces one that has died, and reports
	// whether one does. It may be nil.
	Back func(ctx context.Context) bool
	// Patient makes queries of an engine wait as long as blocking ones. One that
	// starts a thousand tasks on a busy machine may not answer for seconds.
	Patient bool

	namespace string
	kept      bool // it stands for the record of a run
}

// Local returns the engine that listens at a unix socket.
func Local(socket string) (*Server, error) {
	// Nomad's client accepts a socket as address (unix://…), but not if its
	// path contains a space.
	dial := dialer(socket)
	c, err := api.NewClient(&api.Config{
		Address:    "http://127.0.0.1",
		HttpClient: &http.Client{Transport: &http.Transport{DialContext: dial}},
	})
	if err != nil {
		return nil, err
	}
	return &Server{API: c, Socket: socket}, nil
}

// dialer returns a dial function that connects to a unix socket and ignores the
// address.
func dialer(socket string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
}

// Cluster is how to connect to a Nomad cluster.
type Cluster struct {
	Address   string // http://…, https://… or unix://…
	Token     string
	Region    string
	Namespace string // empty: default
	HTTPAuth  string // user:password, for a proxy in front of it
	TLS       api.TLSConfig
}

// Remote returns a Nomad cluster. It sends no request.
func Remote(c Cluster) (*Server, error) {
	at, err := url.Parse(c.Address)
	switch wrong, ok := errors.AsType[*url.Error](err); {
	case ok: // the error contains the address, possibly with a password
		return nil, fmt.Errorf("cannot use the address of the cluster: %w", wrong.Err)
	case at.Scheme == "" || !strings.Contains(c.Address, "://"):
		return nil, fmt.Errorf("cannot use address %q: it must begin with http://, https:// or unix://", at.Redacted())
	case at.Scheme != "http" && at.Scheme != "https" && at.Scheme != "unix":
		return nil, fmt.Errorf("cannot use address %q: its scheme %q is not one of http, https, unix", at.Redacted(), at.Scheme)
	}
	cfg := &api.Config{Address: c.Address, SecretID: c.Token, Region: c.Region, Namespace: c.Namespace, TLSConfig: &c.TLS}
	if user, password, ok := strings.Cut(c.HTTPAuth, ":"); ok {
		cfg.HttpAuth = &api.HttpBasicAuth{Username: user, Password: password}
	} else if c.HTTPAuth != "" {
		return nil, errors.New("cannot use the HTTP authentication: it must be user:password")
	}
	client, err := api.NewClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", at.Redacted(), err)
	}
	return &Server{API: client, Address: at.Redacted(), namespace: c.Namespace}, nil
}

// String returns the name of the run's socket, or the address of the cluster.
func (s *Server) String() string {
	if s.Socket == "" {
		return s.Address
	}
	return "run " + strings.TrimSuffix(filepath.Base(s.Socket), filepath.Ext(s.Socket))
}

// Namespace returns the namespace of requests: a name, * for all, or empty for the
// server's default.
func (s *Server) Namespace() string { return s.namespace }

// in returns the server with another namespace for its requests.
func (s *Server) in(namespace string) *Server {
	other := *s
	other.namespace = namespace
	return &other
}

// Agent returns an engine that obeys namespaces: its lists are those of all of them.
func (s *Server) Agent() *Server { return s.in(api.AllNamespacesNamespace) }

// Of returns the server with the namespace of a job for its requests, and the ID of
// the job, given its key.
func (s *Server) Of(key string) (*Server, string) {
	if s.namespace != api.AllNamespacesNamespace {
		return s, key
	}
	namespace, id := event.SplitJobKey(key)
	return s.in(namespace), id
}

// Key returns the key of a job. In a run, and in one namespace, that is its ID.
func (s *Server) Key(namespace, id string) string {
	if s != nil && (s.kept || s.namespace == api.AllNamespacesNamespace) {
		return event.JobKey(namespace, id)
	}
	return id
}

// quoted returns the name of a job of the server for errors, in quotes.
func (s *Server) quoted(id string) string {
	if s.namespace != api.AllNamespacesNamespace {
		id = event.JobName(event.JobKey(s.namespace, id))
	}
	return strconv.Quote(id)
}
