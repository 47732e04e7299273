package httpapi_test

import (
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

// flood opens as many connections as a listener takes, and some more, and
// returns them.
func (f *fixture) flood(network, addr string) (open []net.Conn) {
	f.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		f.Fatal(err)
	}
	for range min(max(limit.Cur/8, 64), 4096) + 100 {
		open = append(open, f.connect(network, addr))
	}
	head := make([]byte, 12)
	if _, err := io.ReadFull(open[len(open)-1], head); err != nil || string(head) != "HTTP/1.1 429" {
		f.Errorf("the last of %d connections: %q, %v", len(open), head, err)
	}
	return open
}

// Thousands of connections leave descriptors for the tasks, and those who were
// connected before are served; whoever comes later is told why he is not.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	f := serveUnderFire(t)
	f.undisturbed() // which has connected
	addr, token := f.serveTCP()
	open := append(f.flood("unix", f.path), f.flood("tcp", addr)...)
	f.undisturbed()
	late, err := api.NewClient(&api.Config{Address: "unix://" + f.path})
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if _, _, err := late.Jobs().List(nil); err == nil || !strings.Contains(err.Error(), "429 (Too many concurrent connections)") {
		t.Errorf("one too many: %v", err)
	}
	for _, conn := range open {
		_ = conn.Close()
	}
	deadline := time.Now().Add(patience)
	for _, c := range []struct{ addr, token string }{{"unix://" + f.path, ""}, {"http://" + addr, token}} {
		for {
			again, err := api.NewClient(&api.Config{Address: c.addr, SecretID: c.token})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = again.Jobs().List(nil)
			again.Close()
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("when they are gone: %v", err)
			}
		}
	}
}

// Who is not let in at the port takes nothing from the user at the socket.
func TestFloodAtThePort(t *testing.T) {
	t.Parallel()
	f := serveUnderFire(t)
	addr, _ := f.serveTCP()
	f.flood("tcp", addr)
	f.undisturbed()
}
