package httpapi_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi"
	"taskrun/jobspec/taskenv"
)

func TestListenTCPRefusesWhatOthersCouldReach(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":4646", "[::]:0", "192.168.1.1:0", "localhost:0", "127.0.0.1", "4646", ""} {
		if l, err := httpapi.ListenTCP(addr, ""); err == nil {
			_ = l.Close()
			t.Errorf("listens at %q", addr)
		}
	}
}

// serveTCP serves the fixture's engine at a port as well.
func (f *fixture) serveTCP() (addr, token string) {
	f.Helper()
	token = httpapi.NewToken()
	l, err := httpapi.ListenTCP("127.0.0.1:0", token)
	if err != nil {
		f.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- f.server.Serve(l) }()
	f.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := f.server.Shutdown(ctx); err != nil {
			f.Error(err)
		}
		if err := <-served; err != nil {
			f.Error(err)
		}
	})
	return l.Addr().String(), token
}

// A name of this machine must be allowed, with and without a token.
func TestAllowedHosts(t *testing.T) {
	t.Parallel()
	f := serve(t)
	ask := func(s *httpapi.Server, host string) int {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/jobs", nil)
		r.Host = host
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, r)
		return answer.Code
	}
	const host = "host.docker.internal"
	if code := ask(f.server, host+":4646"); code != 403 {
		t.Errorf("a name that was not allowed: %d", code)
	}
	node := taskenv.Fingerprint()
	allowing := httpapi.New(f.engine, httpapi.Config{Node: &node, AllowHosts: []string{host}})
	defer func() { _ = allowing.Shutdown(t.Context()) }()
	for name, want := range map[string]int{host: 200, host + ":4646": 200, "localhost": 200, "x." + host: 403} {
		if code := ask(allowing, name); code != want {
			t.Errorf("%s: %d, want %d", name, code, want)
		}
	}
}

// An agent that ends once it is idle knows when a user was there last. A web page
// is no user.
func TestSeen(t *testing.T) {
	t.Parallel()
	f := serve(t)
	node, seen := taskenv.Fingerprint(), 0
	s := httpapi.New(f.engine, httpapi.Config{Node: &node, Seen: func() { seen++ }})
	defer func() { _ = s.Shutdown(t.Context()) }()
	for _, host := range []string{"localhost", "elsewhere.example", "localhost"} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/jobs", nil)
		r.Host = host
		s.ServeHTTP(httptest.NewRecorder(), r)
	}
	if seen != 2 {
		t.Errorf("%d requests of a user, want 2", seen)
	}
}

// Nomad's tools refuse a token that is not a UUID.
func TestTokenIsAUUID(t *testing.T) {
	t.Parallel()
	if token := httpapi.NewToken(); len(token) != 36 || strings.Count(token, "-") != 4 || token == httpapi.NewToken() {
		t.Errorf("token %q", token)
	}
}

// Without the token a client can read and change nothing; neither can a web
// page, even with the token.
func TestTCPAcceptsTheToken(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "service", newTask("t", "run_for", "1h")))
	alloc := f.running("t")
	addr, token := f.serveTCP()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	for name, c := range map[string]struct {
		host   string
		header http.Header
		want   int
	}{
		"token":         {"", http.Header{"X-Nomad-Token": {token}}, 200},
		"bearer":        {"localhost:" + port, http.Header{"Authorization": {"Bearer " + token}}, 200},
		"no token":      {"", http.Header{}, 403},
		"wrong token":   {"", http.Header{"X-Nomad-Token": {token[1:]}}, 403},
		"rebound name":  {"evil.example:" + port, http.Header{"X-Nomad-Token": {token}}, 403},
		"origin":        {"", http.Header{"X-Nomad-Token": {token}, "Origin": {"http://127.0.0.1:" + port}}, 403},
		"other site":    {"", http.Header{"X-Nomad-Token": {token}, "Sec-Fetch-Site": {"cross-site"}}, 403},
		"token as name": {"", http.Header{"Token": {token}}, 403},
	} {
		for _, request := range []struct{ method, path string }{
			{"GET", "/v1/jobs"},
			{"GET", "/v1/event/stream"},
			{"GET", "/v1/agent/health"},
			{"PUT", "/v1/client/allocation/" + alloc.ID + "/signal"},
			{"GET", "/v1/client/allocation/" + alloc.ID + "/exec?task=t&command=%5B%22true%22%5D"},
		} {
			if c.want == 200 && !strings.HasPrefix(request.path, "/v1/jobs") {
				continue
			}
			r, err := http.NewRequestWithContext(t.Context(), request.method, "http://"+addr+request.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header = c.header.Clone()
			if c.host != "" {
				r.Host = c.host
			}
			resp, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != c.want {
				t.Errorf("%s: %s %s: status %d, want %d", name, request.method, request.path, resp.StatusCode, c.want)
			}
			_ = resp.Body.Close()
		}
	}
}

// Nomad's own client uses its token, and needs none at the socket.
func TestTCPServesNomadsClient(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "service", newTask("t", "run_for", "1h")))
	addr, token := f.serveTCP()
	client, err := api.NewClient(&api.Config{Address: "http://" + addr, SecretID: token})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for name, c := range map[string]*api.Client{"port": client, "socket": f.client} {
		if jobs, _, err := c.Jobs().List(nil); err != nil || fmt.Sprint(len(jobs)) != "1" {
			t.Errorf("%s: %+v, %v", name, jobs, err)
		}
	}
}
