package httpapi

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/engine/httpapi/rest"
)

// A path has a route if its method and everything around its ID match.
func TestFindRoute(t *testing.T) {
	t.Parallel()
	routes := []route{
		{method: http.MethodGet, path: "/v1/jobs"},
		{method: http.MethodPut, path: "/v1/jobs"},
		{method: http.MethodGet, path: "/v1/job/*/plan"},
		{method: http.MethodDelete, path: "/v1/job/*"},
	}
	const none, wrong = -1, -2
	for request, want := range map[string]struct {
		route int
		id    string
	}{
		"GET /v1/jobs": {0, ""}, "PUT /v1/jobs": {1, ""}, "POST /v1/jobs": {1, ""}, "DELETE /v1/jobs": {wrong, ""},
		"GET /v1/jobs/": {none, ""}, "GET /v1/job": {none, ""}, "GET /v1/job/a/plan": {2, "a"}, "GET /v1/job/a/b/plan": {2, "a/b"},
		"GET /v1/job/a": {wrong, ""}, "PUT /v1/job/a/plan": {wrong, ""}, "DELETE /v1/job/a/plan": {wrong, ""}, "DELETE /v1/job/a/b": {3, "a/b"}, "DELETE /v1/job/": {none, ""},
		"GET /v1/job//plan": {wrong, ""}, "GET /": {none, ""},
	} {
		method, path, _ := strings.Cut(request, " ")
		found, id, err := find(routes, method, path)
		switch {
		case want.route == none && !errors.Is(err, rest.ErrNotFound), want.route == wrong && (err == nil || err.Error() != "Invalid method"):
			t.Errorf("%s: the error is %v", request, err)
		case want.route < 0 && found != nil, want.route >= 0 && (err != nil || found != &routes[want.route]):
			t.Errorf("%s: %+v, %v", request, found, err)
		case id != want.id:
			t.Errorf("%s: the ID is %q", request, id)
		}
	}
}

func TestCleanedPaths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/": "", "/v1/jobs": "", "/v1/jobs/": "", "/v1//jobs": "/v1/jobs", "/v1/./jobs/": "/v1/jobs/", "/v1/../": "/", "/..": "/",
		"//v1/jobs?a=b": "/v1/jobs?a=b", "/v1/jobs?a=//": "", "/v1/job/a%2F%2Fb": "",
	} {
		u, err := url.ParseRequestURI("http://host" + text)
		if err != nil {
			t.Fatal(err)
		}
		if got := cleaned(u); got != want {
			t.Errorf("%s is cleaned to %q, not %q", text, got, want)
		}
	}
	if got := cleaned(&url.URL{Path: "*"}); got != "" {
		t.Errorf("* is cleaned to %q", got)
	}
}

// waiting is a listener whose connections, in memory, wait until they are
// accepted.
type waiting struct {
	net.Listener
	conns chan net.Conn
}

func (p *waiting) Accept() (net.Conn, error) {
	conn, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// dial returns the client's end of a connection.
func (p *waiting) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// A connection over the limit is refused after its request, and a closed one
// makes room for another.
func TestLimitOfConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &waiting{conns: make(chan net.Conn, 9)}
		l := withLimit(p, 2)
		accepted := make(chan net.Conn)
		go func() {
			defer close(accepted)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				accepted <- conn
			}
		}()
		defer p.dial().Close()
		defer p.dial().Close()
		first, second := <-accepted, <-accepted
		over := p.dial()
		if _, err := io.WriteString(over, "GET"); err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(over); string(text) != refusal || err != nil {
			t.Errorf("the one over the limit got %q, %v", text, err)
		}
		silent, begin := p.dial(), time.Now()
		if text, err := io.ReadAll(silent); string(text) != refusal || err != nil || time.Since(begin) != refusalTime {
			t.Errorf("a silent one got %q, %v after %v", text, err, time.Since(begin))
		}
		for range 2 { // the second time it does nothing
			_ = first.Close()
		}
		defer p.dial().Close()
		third := <-accepted
		for _, conn := range []net.Conn{second, third} {
			_ = conn.Close()
		}
		l.refused.Wait()
		if len(l.slots) != 0 || len(l.refusing) != 0 {
			t.Errorf("%d slots are taken, %d are being refused", len(l.slots), len(l.refusing))
		}
		close(p.conns)
		if conn, ok := <-accepted; ok {
			t.Errorf("%v was accepted", conn)
		}
	})
}

// A stranger lives for a short time, whatever deadlines are set, and leaves for
// a newer one. A token makes its connection one of the others.
func TestStrangers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &waiting{conns: make(chan net.Conn, 9)}
		l := withLimit(&tokenListener{p, "token"}, 4)
		if l.maxStrangers != 2 || withLimit(p, 10*maxStrangers).maxStrangers != maxStrangers {
			t.Errorf("there may be %d strangers", l.maxStrangers)
		}
		accept := func() (*limitedConn, net.Conn) {
			client := p.dial()
			t.Cleanup(func() { _ = client.Close() })
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			return conn.(*limitedConn), client
		}
		gone := func(client net.Conn) bool {
			_ = client.SetReadDeadline(time.Now().Add(time.Nanosecond))
			_, err := client.Read(make([]byte, 1))
			return errors.Is(err, io.EOF)
		}
		request := func(conn net.Conn) *http.Request {
			return (&http.Request{}).WithContext(keepConn(context.Background(), conn))
		}
		first, firstClient := accept()
		second, secondClient := accept()
		if gone(firstClient) || gone(secondClient) {
			t.Error("there is room for two, and one is gone")
		}
		third, _ := accept()
		if !gone(firstClient) || gone(secondClient) || first.admit() {
			t.Error("the oldest stranger is not gone")
		}
		if err := admit(request(first)); err == nil || err.Error() != tooMany {
			t.Errorf("one that is gone: %v", err)
		}
		if err := errors.Join(admit(request(second)), admit(request(second)), admit(&http.Request{})); err != nil || len(l.slots) != 1 || len(l.strangers) != 1 {
			t.Errorf("%v, %d slots are taken, %d strangers", err, len(l.slots), len(l.strangers))
		}
		for name, set := range map[string]func(time.Time) error{"both": third.SetDeadline, "read": third.SetReadDeadline} {
			for _, until := range []time.Time{{}, time.Now().Add(time.Hour)} {
				if err := set(until); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		begin := time.Now()
		if _, err := third.Read(make([]byte, 1)); err == nil || time.Since(begin) > strangerTime {
			t.Errorf("it read for %v: %v", time.Since(begin), err)
		}
		if err := third.SetWriteDeadline(time.Time{}); err != nil {
			t.Error(err)
		}
		if _, err := third.Write([]byte("x")); err == nil || time.Since(begin) > strangerTime {
			t.Errorf("it wrote for %v: %v", time.Since(begin), err)
		}
		soon := time.Now().Add(time.Second) // one with a token may wait as long as it likes
		if err := second.SetReadDeadline(soon.Add(time.Hour)); err != nil {
			t.Error(err)
		}
		if _, err := second.Read(make([]byte, 1)); err == nil || time.Since(soon) != time.Hour {
			t.Errorf("it read until %v: %v", time.Since(soon), err)
		}
		_, _ = third.Close(), second.Close()
		if len(l.slots) != 0 || len(l.strangers) != 0 {
			t.Errorf("%d slots are taken, %d strangers", len(l.slots), len(l.strangers))
		}
		for range 4 {
			conn, _ := accept()
			if !conn.admit() {
				t.Error("there is no slot")
			}
		}
		if last, _ := accept(); last.admit() {
			t.Error("there is one slot too many")
		}
	})
}
