package httpapi

import (
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/chance"
)

// tokenListener accepts connections of any program on this machine; requests
// need its token.
type tokenListener struct {
	net.Listener
	token string
}

// NewToken returns a token for ListenTCP. It is a UUID, which is what Nomad's
// tools accept.
func NewToken() string { return chance.Source{}.ID("token") }

// ListenTCP listens at a port of this machine, such as 127.0.0.1:4646 or, for
// any free port, 127.0.0.1:0. Clients must send the token with every request,
// like Nomad's clients do with NOMAD_TOKEN: other users of the machine and pages
// in a browser can connect, too. Without a token they need none.
//
// It refuses addresses that other machines could reach. It also refuses names,
// which could later resolve to one.
func ListenTCP(addr, token string) (net.Listener, error) {
	at, err := netip.ParseAddrPort(addr)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot listen at %q: it is not an IP address with a port, such as 127.0.0.1:4646", addr)
	case !at.Addr().IsLoopback():
		return nil, fmt.Errorf("cannot listen at %q: other machines could start processes here; use 127.0.0.1:%d", addr, at.Port())
	}
	l, err := net.Listen("tcp", at.String())
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot listen at %q: %w", addr, err)
	case token == "":
		return l, nil
	}
	return &tokenListener{l, token}, nil
}

type tokenKey struct{}

// checkToken refuses a request without the token of its listener, if the
// listener has one.
func checkToken(r *http.Request) error {
	want, ok := r.Context().Value(tokenKey{}).(string)
	if !ok {
		return nil
	}
	if subtle.ConstantTimeCompare([]byte(sentToken(r)), []byte(want)) != 1 {
		return rest.ErrDenied
	}
	return nil
}

// sentToken returns the token of a request, from the places where Nomad's
// clients put it.
func sentToken(r *http.Request) string {
	if token := r.Header.Get("X-Nomad-Token"); token != "" {
		return token
	}
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return bearer
	}
	return ""
}
