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

// over returns a few more connections than a listener accepts.
func (f *fixture) over() int {
	f.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		f.Fatal(err)
	}
	return int(min(max(limit.Cur/8, 64), 4096) + 100)
}

// flood opens more connections than a listener accepts. Each one sends a text.
func (f *fixture) flood(network, addr, text string) {
	f.Helper()
	for range f.over() {
		_, _ = io.WriteString(f.connect(network, addr), text) // a refused connection needs no more
	}
}

// crowd opens more connections of authorized clients than a listener accepts,
// and checks that the last one is refused. It waits for each response before
// the next: a port drops clients whose token it has not read yet.
func (f *fixture) crowd(network, addr, token string) (open []net.Conn) {
	f.Helper()
	if token != "" {
		token = "X-Nomad-Token: " + token + "\r\n"
	}
	head := make([]byte, 12)
	var err error
	for range f.over() {
		conn := f.connect(network, addr)
		_, _ = io.WriteString(conn, "GET /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n"+token+"\r\n")
		_, err = io.ReadFull(conn, head)
		open = append(open, conn)
	}
	if err != nil || string(head) != "HTTP/1.1 429" {
		f.Errorf("the last of %d connections: %q, %v", len(open), head, err)
	}
	return open
}

// Thousands of connections leave descriptors for the tasks. Earlier connections
// are served; later ones get an error with the reason.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	f := serveUnderFire(t)
	f.undisturbed() // it opens a connection, too
	addr, token := f.serveTCP()
	open := append(f.crowd("unix", f.path, ""), f.crowd("tcp", addr, token)...)
	f.undisturbed()
	late, err := api.NewClient(&api.Config{Address: "unix://" + f.path})
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if _, _, err := late.Jobs().List(nil); err == nil || !strings.Contains(err.Error(), "429 (Too many concurrent connections)") {
		t.Errorf("a connection over the limit: %v", err)
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

// served checks that a client with the token is served, on its own connection.
func (f *fixture) served(addr, token string) {
	f.Helper()
	client, err := api.NewClient(&api.Config{Address: "http://" + addr, SecretID: token})
	if err != nil {
		f.Fatal(err)
	}
	defer client.Close()
	if jobs, _, err := client.Jobs().List(nil); err != nil || len(jobs) == 0 {
		f.Errorf("a client with the token: %d jobs, %v", len(jobs), err)
	}
}

// Connections without the token cannot lock clients out, whatever they do.
func TestFloodAtThePort(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"silence":        "",
		"half a header":  "GET /v1/jobs HTTP/1.1\r\nX: ",
		"a body to come": "PUT /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
		"chunks to come": "PUT /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
		"a wrong token":  "PUT /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Nomad-Token: x\r\nContent-Length: 100\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) { // not parallel: each opens thousands of connections
			f := serveUnderFire(t)
			addr, token := f.serveTCP()
			f.flood("tcp", addr, text)
			f.served(addr, token)
			f.undisturbed()
		})
	}
}

// A client with the token is served while more than twice as many
// connections arrive as the port accepts.
func TestEndlessFloodAtThePort(t *testing.T) {
	t.Parallel()
	f := serveUnderFire(t)
	addr, token := f.serveTCP()
	const width = 200 // concurrent connections
	var open []net.Conn
	for i := range 2 * f.over() {
		conn := f.connect("tcp", addr)
		_, _ = io.WriteString(conn, "PUT /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
		if open = append(open, conn); len(open) > width {
			_ = open[0].Close()
			open = open[1:]
		}
		if i%500 == 0 {
			f.served(addr, token)
		}
	}
	f.undisturbed()
}
