package source

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// An engine that does not answer in time may answer later; one that refuses, or
// a directory that cannot be read, will not.
func TestBusyEngines(t *testing.T) {
	t.Parallel()
	late := &net.OpError{Op: "dial", Net: "unix", Err: os.ErrDeadlineExceeded}
	for err, want := range map[error]bool{
		nil: false, os.ErrPermission: false, errors.New("refused"): false,
		late: true, fmt.Errorf("cannot look for runs: %w", late): true,
	} {
		if got := busy(err); got != want {
			t.Errorf("%v: %t", err, got)
		}
	}
}

// Servers returns the engines that answer, without those that are gone.
func TestServers(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	dir := filepath.Dir(e.socket)
	servers, err := Servers(life(t), dir)
	if err != nil || len(servers) != 1 || servers[0].Socket != e.socket || !servers[0].Back(life(t)) {
		t.Errorf("servers %v, %v", servers, err)
	}
	e.die()
	if servers, err := Servers(life(t), dir); err != nil || len(servers) != 0 {
		t.Errorf("servers %v, %v, when it is gone", servers, err)
	}
	if comesBack(life(t), e.socket) {
		t.Error("an engine without a keeper came back")
	}
	if servers, err := Servers(life(t), filepath.Join(dir, "none")); err != nil || len(servers) != 0 {
		t.Errorf("servers %v, %v, without a directory", servers, err)
	}
}
