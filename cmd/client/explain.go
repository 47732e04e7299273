package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/hashicorp/nomad/api"
)

// RefusedError is the answer of a server that refuses a request.
type RefusedError struct {
	Code int // HTTP status
	Text string
}

func (e *RefusedError) Error() string { return fmt.Sprintf("it answered %d: %s", e.Code, e.Text) }

// Missing reports whether a server has answered that an object does not exist.
func Missing(err error) bool {
	refused, ok := errors.AsType[*RefusedError](err)
	return ok && refused.Code == http.StatusNotFound
}

// explain adds the request and the server to an error, if there is one.
func (s *Server) explain(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot %s of %v: %w", doing, s, reason(ctx, err))
}

// reason returns the error of a request without its URL.
func reason(ctx context.Context, err error) error {
	var response api.UnexpectedResponseError
	var request *url.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &response) && response.HasStatusCode():
		return &RefusedError{response.StatusCode(), strings.TrimSpace(response.Body())}
	case errors.As(err, &request) && !isDial(request.Err):
		return &brokenError{request.Err}
	case errors.As(err, &request):
		return request.Err
	}
	return err
}

// brokenError is the error of a request whose connection broke before an answer
// came. Some of those of net/http have no other type.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

func isDial(err error) bool {
	of, ok := errors.AsType[*net.OpError](err)
	return ok && of.Op == "dial"
}

// maxAsked limits the repetitions of a request to engines that die.
const maxAsked = 5

// retry calls f, and calls it again if the engine dies and another one replaces
// it. The first request may have been carried out or not.
func (s *Server) retry(ctx context.Context, f func() error) error {
	for asked := 1; ; asked++ {
		err := f()
		if err == nil || !died(err) || asked == maxAsked || s.Back == nil || !s.Back(ctx) {
			return err
		}
	}
}

// Died reports whether an error of a request means that the engine has died and
// that no other one replaces it. A cluster may come back.
func (s *Server) Died(err error) bool { return s.Socket != "" && died(err) }

// died reports whether there was no engine, or whether it ended during a request.
func died(err error) bool {
	_, broken := errors.AsType[*brokenError](err)
	return broken || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Remedy returns the remedy for an error of a cluster, or "".
func Remedy(err error) string {
	var refused *RefusedError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &refused) && (refused.Code == http.StatusForbidden || refused.Code == http.StatusUnauthorized):
		return "set the token with TASKRUN_TOKEN or --token; NOMAD_TOKEN is ignored"
	case errors.As(err, &refused) && refused.Text == "Enterprise only":
		return "only Nomad Enterprise can stop and start a single task of an allocation"
	case errors.As(err, &refused) && strings.Contains(refused.Text, "HTTP request to an HTTPS server"):
		return "the address must begin with https://"
	case errors.As(err, &unknown):
		return "set the CA of the cluster with TASKRUN_CACERT or --ca-cert"
	case errors.As(err, &name):
		return "the certificates of Nomad servers are for server.<region>.nomad: set that with TASKRUN_TLS_SERVER_NAME or --tls-server-name"
	case errors.As(err, &record), err != nil && strings.Contains(err.Error(), http.ErrSchemeMismatch.Error()):
		return "the address must begin with http://"
	case err != nil && strings.Contains(err.Error(), "certificate required"):
		return "set the certificate of this client with TASKRUN_CLIENT_CERT and TASKRUN_CLIENT_KEY, or --client-cert and --client-key"
	}
	return ""
}
