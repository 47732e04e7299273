package hooks_test

import (
	"errors"
	"testing"

	"taskrun/drivers"
	"taskrun/hooks"
)

// TestEventError checks that an error with an event keeps its text.
func TestEventError(t *testing.T) {
	t.Parallel()
	why := errors.New("why")
	err := error(&hooks.EventError{Err: why})
	if err.Error() != "why" || !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

// user is a driver whose networks the engine can use, as far as it has sockets.
type user struct {
	drivers.NetworkManager
	drivers.NetworkUser
}

// A network without sockets has addresses that the engine cannot use.
func TestOwnNetwork(t *testing.T) {
	t.Parallel()
	can, cannot := user{}, struct{ drivers.NetworkManager }{}
	none, plain := &drivers.NetworkIsolation{}, &drivers.NetworkIsolation{IP: "172.17.0.2"}
	usable := &drivers.NetworkIsolation{IP: "172.17.0.2", Sockets: "/run/sockets"}
	for name, c := range map[string]struct {
		alloc   hooks.Alloc
		user    drivers.NetworkUser
		network *drivers.NetworkIsolation
	}{
		"no network":            {hooks.Alloc{Network: can}, nil, nil},
		"not created":           {hooks.Alloc{Network: can, Isolation: func() *drivers.NetworkIsolation { return nil }}, nil, nil},
		"network without an IP": {hooks.Alloc{Network: can, Isolation: func() *drivers.NetworkIsolation { return none }}, nil, nil},
		"without sockets":       {hooks.Alloc{Network: can, Isolation: func() *drivers.NetworkIsolation { return plain }}, nil, plain},
		"usable":                {hooks.Alloc{Network: can, Isolation: func() *drivers.NetworkIsolation { return usable }}, can, usable},
		"of another driver":     {hooks.Alloc{Network: cannot, Isolation: func() *drivers.NetworkIsolation { return usable }}, nil, usable},
	} {
		if u, n := c.alloc.OwnNetwork(); u != c.user || n != c.network {
			t.Errorf("%s: %v, %v", name, u, n)
		}
	}
}
