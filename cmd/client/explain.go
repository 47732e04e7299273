package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// RefusedError is the answer of a server that does not do what it was asked.
type RefusedError struct {
	Code int // of HTTP
	Text string
}

func (e *RefusedError) Error() string { return fmt.Sprintf("it answered %d: %s", e.Code, e.Text) }

// Missing reports whether a server has answered that there is no such thing.
func Missing(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused) && refused.Code == http.StatusNotFound
}

// explain says what an error of a request means, if there is one.
func (s *Server) explain(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot %s of %v: %w", doing, s, reason(ctx, err))
}

// reason is an error of a request without what is long about it.
func reason(ctx context.Context, err error) error {
	var response api.UnexpectedResponseError
	var request *url.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &response) && response.HasStatusCode():
		return &RefusedError{response.StatusCode(), strings.TrimSpace(response.Body())}
	case errors.As(err, &request):
		return request.Err
	}
	return err
}

// Remedy says what to do about an error of a cluster, "" when that is not
// known.
func Remedy(err error) string {
	var refused *RefusedError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &refused) && (refused.Code == http.StatusForbidden || refused.Code == http.StatusUnauthorized):
		return "the token that is sent is that of TASKRUN_TOKEN or --token; Nomad's own variable is not read"
	case errors.As(err, &refused) && strings.Contains(refused.Text, "HTTP request to an HTTPS server"):
		return "the address has to begin with https://"
	case errors.As(err, &unknown):
		return "name the CA of the cluster with TASKRUN_CACERT or --ca-cert"
	case errors.As(err, &name):
		return "servers of Nomad are called server.<region>.nomad: say so with TASKRUN_TLS_SERVER_NAME or --tls-server-name"
	case errors.As(err, &record), err != nil && strings.Contains(err.Error(), http.ErrSchemeMismatch.Error()):
		return "the address has to begin with http://"
	case err != nil && strings.Contains(err.Error(), "certificate required"):
		return "name this client's certificate with TASKRUN_CLIENT_CERT and TASKRUN_CLIENT_KEY, or --client-cert and --client-key"
	}
	return ""
}
