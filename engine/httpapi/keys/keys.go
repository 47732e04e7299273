// Package keys serves the public key with which other programs verify workload
// identities. See https://developer.hashicorp.com/nomad/docs/concepts/workload-identity.
package keys

import (
	"net/http"
	"strings"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/workload"
)

// Handler serves the keys of a keyring.
type Handler struct{ ring *workload.Keyring }

// New returns a handler.
func New(ring *workload.Keyring) *Handler { return &Handler{ring} }

// Set answers GET /.well-known/jwks.json. The first call may create the key,
// which takes long.
func (h *Handler) Set(*rest.Request) (any, error) { return h.ring.Public() }

// Discovery answers GET /.well-known/openid-configuration. Tokens have no
// issuer, because the address of the agent is not theirs to know.
func (h *Handler) Discovery(*rest.Request) error {
	return rest.Fail(http.StatusNotFound, "OIDC Discovery endpoint disabled")
}

// List answers GET /v1/operator/keyring/keys.
func (h *Handler) List(*rest.Request) (any, error) {
	set, err := h.ring.Public()
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, key := range set.Keys {
		list = append(list, struct{ KeyID, Algorithm, State string }{key.KeyID, strings.ToLower(key.Algorithm), "active"})
	}
	return list, nil
}
