package httpapi_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
)

// serveUnderFire runs a job that keeps running, and one that can be dispatched:
// it must remain possible to start tasks.
func serveUnderFire(t *testing.T) *fixture {
	t.Helper()
	parent := newJob("parent", "batch", newTask("child", "run_for", "1h"))
	parent.ParameterizedJob = &api.ParameterizedJobConfig{}
	parent.Canonicalize()
	f := serve(t, newJob("job", "service", newTask("main", "run_for", "1h")), parent)
	f.running("main")
	return f
}

// undisturbed checks that the run continues, and that a task can start.
func (f *fixture) undisturbed() {
	f.Helper()
	if _, _, err := f.engine.Handle("parent").Dispatch(engine.Dispatch{}); err != nil {
		f.Fatal(err)
	}
	f.running("child")
	for _, a := range f.engine.Allocs() {
		if a.Group == "g" && a.Alloc.Job == "job" && a.Status != "running" {
			f.Errorf("allocation %s is %s", a.Name, a.Status)
		}
	}
	jobs, _, err := f.client.Jobs().List(nil)
	if err != nil || len(jobs) < 2 {
		f.Errorf("%d jobs are shown, %v", len(jobs), err)
	}
}

// connect opens a connection without sending anything.
func (f *fixture) connect(network, addr string) net.Conn {
	f.Helper()
	conn, err := new(net.Dialer).DialContext(f.Context(), network, addr)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		f.Fatal(err)
	}
	return conn
}

func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	f := serveUnderFire(t)
	for name, text := range map[string]string{
		"nothing of HTTP":        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
		"HTTP/2":                 "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"HTTP/0.9":               "GET /v1/jobs\r\n\r\n",
		"two hosts":              "GET /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
		"no host":                "GET /v1/jobs HTTP/1.1\r\n\r\n",
		"another's host":         "GET http://evil.example/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"a proxy's request":      "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n",
		"options":                "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"preflight":              "OPTIONS /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: PUT\r\n\r\n",
		"a length below zero":    "PUT /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n{}",
		"two lengths":            "PUT /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
		"a length and chunks":    "PUT /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
		"chunks that are none":   "PUT /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
		"a name with a blank":    "GET /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nX Y: z\r\n\r\n",
		"a path of zeros":        "GET /v1/job/%00%00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"a broken escape":        "GET /v1/job/%zz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"two slashes of a page":  "GET //v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\n\r\n",
		"many headers":           "GET /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n" + strings.Repeat("A: b\r\n", 100_000) + "\r\n",
		"a long path":            "GET /v1/job/" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"half a websocket":       "GET /v1/client/allocation/x/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"an unknown upgrade":     "GET /v1/client/allocation/x/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
		"a form":                 "POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: null\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
		"an order that is a GET": "GET /v1/system/gc HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
	} {
		conn := f.connect("unix", f.path)
		go func() { _, _ = io.WriteString(conn, text) }() // a client that is cut off cannot send everything
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if resp.StatusCode < 400 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: status %d", name, resp.StatusCode)
		}
		_ = resp.Body.Close()
	}
	f.undisturbed()
}

// A websocket that is opened and never used costs a command, and nothing else.
func TestOpenWebsockets(t *testing.T) {
	t.Parallel()
	started, killed := make(chan struct{}, 100), make(chan struct{}, 100)
	f := serveUnderFire(t)
	f.driver.exec = sleep(started, killed)
	alloc := ""
	for _, a := range f.engine.Allocs() {
		if a.Alloc.Job == "job" {
			alloc = a.ID
		}
	}
	var open []*websocket.Conn
	for range 100 {
		open = append(open, f.dial("/v1/client/allocation/"+alloc+"/exec?task=main&tty=false&command=[\"sleep\"]"))
		f.receive(started, "it did not start")
	}
	f.undisturbed()
	for _, conn := range open {
		_ = conn.Close()
	}
	for range 100 {
		f.receive(killed, "a command outlives its client")
	}
}
