package httpapi

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"taskrun/engine/httpapi/rest"
)

// tokenListener accepts connections of any program on this machine; requests
// need its token.
type tokenListener struct {
	net.Listener
	token string
}

// ListenTCP listens at a port of this machine, such as 127.0.0.1:4646 or, for
// any free port, 127.0.0.1:0. It returns a new token, which clients must send
// with every request, like Nomad's clients do with NOMAD_TOKEN: other users of
// the machine and pages in a browser can connect, too.
//
// It refuses addresses that other machines could reach. It also refuses names,
// which could later resolve to one.
func ListenTCP(addr string) (l net.Listener, token string, err error) {
	at, err := netip.ParseAddrPort(addr)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("cannot listen at %q: it is not an IP address with a port, such as 127.0.0.1:4646", addr)
	case !at.Addr().IsLoopback():
		return nil, "", fmt.Errorf("cannot listen at %q: other machines could start processes here; use 127.0.0.1:%d", addr, at.Port())
	}
	if l, err = net.Listen("tcp", at.String()); err != nil {
		return nil, "", fmt.Errorf("cannot listen at %q: %w", addr, err)
	}
	token = rand.Text()
	return &tokenListener{l, token}, token, nil
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
