// Package client talks to running engines, and to Nomad clusters, over Nomad's
// HTTP API: it lists their tasks, finds the ones that a user means, and opens
// sessions and outputs in them.
//
// It prints nothing and reads no environment: where to connect to is handed in.
package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/nomad/api"
)

// How long a server may take to list its tasks. An engine of this machine
// answers within milliseconds unless it was stopped.
const (
	localTime   = 2 * time.Second
	clusterTime = 30 * time.Second
)

// Server is a running engine or a Nomad cluster.
type Server struct {
	API     *api.Client
	Socket  string // of an engine; empty for a cluster
	Address string // of a cluster, without a password; empty for an engine
	// Back waits, when an engine does not answer any more, until another one
	// does in its place, and reports whether that is so. May be nil.
	Back func(ctx context.Context) bool

	namespace string
}

// Local returns the engine that listens at a unix socket.
func Local(socket string) (*Server, error) {
	// Nomad's client takes a socket as an address (unix://…) too, but none
	// with a space in it.
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

// dialer returns what connects to a unix socket, whatever the address.
func dialer(socket string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
}

// Cluster says where a Nomad cluster is and how to talk to it.
type Cluster struct {
	Address   string // http://…, https://… or unix://…
	Token     string
	Region    string
	Namespace string // empty: default
	HTTPAuth  string // user:password, for a proxy before it
	TLS       api.TLSConfig
}

// Remote returns a Nomad cluster. It is not asked yet.
func Remote(c Cluster) (*Server, error) {
	at, err := url.Parse(c.Address)
	var wrong *url.Error
	switch {
	case errors.As(err, &wrong): // which repeats the address, perhaps with a password in it
		return nil, fmt.Errorf("cannot use the address of the cluster: %w", wrong.Err)
	case at.Scheme == "" || !strings.Contains(c.Address, "://"):
		return nil, fmt.Errorf("cannot use address %q: it has to begin with http://, https:// or unix://", at.Redacted())
	case at.Scheme != "http" && at.Scheme != "https" && at.Scheme != "unix":
		return nil, fmt.Errorf("cannot use address %q: %q is not one of http, https, unix", at.Redacted(), at.Scheme)
	}
	cfg := &api.Config{Address: c.Address, SecretID: c.Token, Region: c.Region, Namespace: c.Namespace, TLSConfig: &c.TLS}
	if user, password, ok := strings.Cut(c.HTTPAuth, ":"); ok {
		cfg.HttpAuth = &api.HttpBasicAuth{Username: user, Password: password}
	} else if c.HTTPAuth != "" {
		return nil, errors.New("cannot use the authentication for HTTP: it has to be user:password")
	}
	client, err := api.NewClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", at.Redacted(), err)
	}
	return &Server{API: client, Address: at.Redacted(), namespace: c.Namespace}, nil
}

// String names the server: the name of the run's socket, or the address.
func (s *Server) String() string {
	if s.Socket == "" {
		return s.Address
	}
	return "run " + strings.TrimSuffix(filepath.Base(s.Socket), filepath.Ext(s.Socket))
}

// Namespace is where it looks for jobs: a name, * for all, or empty for the
// server's own choice, which is default.
func (s *Server) Namespace() string { return s.namespace }

// in returns the server with another namespace.
func (s *Server) in(namespace string) *Server {
	other := *s
	other.namespace = namespace
	return &other
}

// maxAsked is how often a request is repeated to engines that die.
const maxAsked = 5

// retry calls f and, when the engine dies meanwhile and another one takes its
// place, calls it again. It must not matter whether f was carried out before.
func (s *Server) retry(ctx context.Context, f func() error) error {
	for asked := 1; ; asked++ {
		err := f()
		if err == nil || !died(err) || asked == maxAsked || s.Back == nil || !s.Back(ctx) {
			return err
		}
	}
}

// Died reports whether an error of a request means that the engine has died, and
// that no other one replaces it. A cluster may come back.
func (s *Server) Died(err error) bool { return s.Socket != "" && died(err) }

// died reports whether there is no engine, or none any more.
func died(err error) bool {
	return Gone(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Gone reports whether an engine had ended before it was asked.
func Gone(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}
