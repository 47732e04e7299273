package httpapi_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi"
)

func TestListenTCPRefusesWhatOthersCouldReach(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":4646", "[::]:0", "192.168.1.1:0", "localhost:0", "127.0.0.1", "4646", ""} {
		if l, _, err := httpapi.ListenTCP(addr); err == nil {
			_ = l.Close()
			t.Errorf("listens at %q", addr)
		}
	}
}

// serveTCP serves the fixture's engine at a port as well.
func (f *fixture) serveTCP() (addr, token string) {
	f.Helper()
	l, token, err := httpapi.ListenTCP("127.0.0.1:0")
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
