package httpapi_test

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/service"
	"taskrun/engine/leaf/workload"
)

// taskAPI is a server at the socket of a task whose identity has a token.
type taskAPI struct {
	*fixture
	alloc    *event.Alloc
	path     string
	listener net.Listener
	served   chan struct{}
}

// serveTask runs the jobs "own" and "other", and serves a task of the first
// one.
func serveTask(t *testing.T) *taskAPI {
	t.Helper()
	f := serve(t, newJob("own", "service", newTask("own", "run_for", "1h")), newJob("other", "service", newTask("stranger", "run_for", "1h")))
	a := serveTasks(t, f)
	a.alloc = f.running("own")
	return a
}

// serveTasks serves the tasks of a server.
func serveTasks(t *testing.T, f *fixture) *taskAPI {
	t.Helper()
	a := &taskAPI{fixture: f, path: filepath.Join(socketDir(t), "api.sock"), served: make(chan struct{})}
	var err error
	if a.listener, err = net.Listen("unix", a.path); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(a.served)
		f.server.ServeTask(a.listener)
	}()
	t.Cleanup(func() {
		_ = a.listener.Close()
		<-a.served
	})
	return a
}

// token returns a token for an identity of the task.
func (a *taskAPI) token(id *api.WorkloadIdentity) string {
	a.Helper()
	job, _, err := a.client.Jobs().Info("own", nil)
	if err != nil {
		a.Fatal(err)
	}
	token, err := a.keys.Sign(workload.NewClaims(workload.Task{Region: "global", Alloc: a.alloc.ID, Group: "g", Name: "own", Job: job}, id, time.Now()))
	if err != nil {
		a.Fatal(err)
	}
	return token
}

// ask sends a request like curl --unix-socket, with an arbitrary host name.
func (a *taskAPI) ask(method, path string, header http.Header) (status int, body string) {
	a.Helper()
	conn, err := net.Dial("unix", a.path)
	if err != nil {
		a.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{
		Dial:              func(string, string) (net.Conn, error) { return conn, nil },
		DisableKeepAlives: true,
	}}
	req, err := http.NewRequestWithContext(a.Context(), method, "http://nomad"+path, nil)
	if err != nil {
		a.Fatal(err)
	}
	req.Header = header
	resp, err := client.Do(req)
	if err != nil {
		a.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		a.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestTaskAPI requests everything.
func TestTaskAPI(t *testing.T) {
	t.Parallel()
	a := serveTask(t)
	for path, namespace := range map[string]string{
		"nomad/jobs": "default", "nomad/jobs/own": "default", "nomad/jobs/own/g": "default", "nomad/jobs/own/g/own": "default",
		"nomad/jobs/own/g/sibling": "default", "nomad/jobs/other": "default", "secret": "default",
		"nomad/jobs/own/g/own/deeper": "default", "nomad/jobs/own2": "default",
	} {
		if _, err := a.engine.Variables().Put(&api.Variable{Path: path, Namespace: namespace, Items: api.VariableItems{"k": "v"}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.engine.Variables().Put(&api.Variable{Path: "nomad/jobs/own", Namespace: "elsewhere", Items: api.VariableItems{"k": "v"}}, nil); err != nil {
		t.Fatal(err)
	}
	a.engine.Services().Register(&service.Instance{ServiceRegistration: api.ServiceRegistration{ID: "i", ServiceName: "web", Namespace: "elsewhere", AllocID: "x"}})
	stranger := a.allocOf("other")
	bearer := http.Header{"Authorization": {"Bearer " + a.token(&api.WorkloadIdentity{Name: "aws", Audience: []string{"x"}})}}
	for _, c := range []struct {
		method, path string
		status       int
		body         string // part of it
	}{
		{"GET", "/v1/services?namespace=elsewhere", 200, `"web"`},
		{"GET", "/v1/service/web?namespace=elsewhere", 200, `"web"`},
		{"DELETE", "/v1/service/web/i", 403, "Permission denied"},
		{"GET", "/v1/var/nomad/jobs", 200, `"v"`},
		{"GET", "/v1/var/nomad/jobs/own", 200, `"v"`},
		{"GET", "/v1/var/nomad/jobs/own/g", 200, `"v"`},
		{"GET", "/v1/var/nomad/jobs/own/g/own", 200, `"v"`},
		{"GET", "/v1/var/nomad/jobs/own/g/own/deeper", 403, "Permission denied"},
		{"GET", "/v1/var/nomad/jobs/own/g/sibling", 403, "Permission denied"},
		{"GET", "/v1/var/nomad/jobs/own2", 403, "Permission denied"},
		{"GET", "/v1/var/nomad/jobs/other", 403, "Permission denied"},
		{"GET", "/v1/var/secret", 403, "Permission denied"},
		{"GET", "/v1/var/nomad/jobs/own?namespace=elsewhere", 403, "Permission denied"},
		{"GET", "/v1/var/none", 403, "Permission denied"},
		{"PUT", "/v1/var/nomad/jobs/own", 403, "Permission denied"},
		{"DELETE", "/v1/var/nomad/jobs/own", 403, "Permission denied"},
		{"GET", "/v1/job/own", 200, `"own"`},
		{"GET", "/v1/job/own/allocations", 200, a.alloc.ID},
		{"GET", "/v1/job/own/summary", 200, `"own"`},
		{"GET", "/v1/job/own?namespace=elsewhere", 403, "Permission denied"},
		{"GET", "/v1/job/other", 403, "Permission denied"},
		{"GET", "/v1/job/other/allocations", 403, "Permission denied"},
		{"GET", "/v1/job/nope", 403, "Permission denied"},
		{"GET", "/v1/job/own/action?action=x&allocID=" + a.alloc.ID + "&task=own", 403, "Permission denied"},
		{"PUT", "/v1/job/own", 403, "Permission denied"},
		{"PUT", "/v1/job/own/evaluate", 403, "Permission denied"},
		{"DELETE", "/v1/job/own", 403, "Permission denied"},
		{"GET", "/v1/allocation/" + a.alloc.ID, 200, a.alloc.ID},
		{"GET", "/v1/allocation/" + a.alloc.ID + "/services", 200, "[]"},
		{"GET", "/v1/client/allocation/" + a.alloc.ID + "/checks", 200, "null"},
		{"GET", "/v1/allocation/" + stranger, 403, "Permission denied"},
		{"PUT", "/v1/allocation/" + a.alloc.ID + "/stop", 403, "Permission denied"},
		{"GET", "/v1/client/allocation/" + a.alloc.ID + "/exec?task=own&command=%5B%22true%22%5D", 403, "Permission denied"},
		{"GET", "/v1/client/fs/logs/" + a.alloc.ID + "?task=own&type=stdout", 403, "Permission denied"},
		{"GET", "/v1/client/fs/cat/" + stranger + "?path=alloc", 403, "Permission denied"},
		{"GET", "/v1/jobs", 403, "Permission denied"},
		{"GET", "/v1/allocations", 403, "Permission denied"},
		{"GET", "/v1/nodes", 403, "Permission denied"},
		{"GET", "/v1/agent/self", 403, "Permission denied"},
		{"GET", "/v1/event/stream", 403, "Permission denied"},
		{"PUT", "/v1/system/gc", 403, "Permission denied"},
		{"GET", "/v1/nope", 404, ""},
	} {
		if status, body := a.ask(c.method, c.path, bearer); status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s %s: %d %q, want %d %q", c.method, c.path, status, body, c.status, c.body)
		}
	}
	_, list := a.ask("GET", "/v1/vars?namespace=*&prefix=", bearer)
	if n := strings.Count(list, `"Path"`); n != 4 {
		t.Errorf("the list shows %d variables, want 4: %s", n, list)
	}
}

// allocOf returns the allocation of a job once there is one.
func (f *fixture) allocOf(job string) string {
	f.Helper()
	return follow(f, "/v1/job/"+job+"/allocations", func(list []*api.AllocationListStub) bool { return len(list) == 1 })[0].ID
}

// TestTaskAPIWantsALiveIdentity sends tokens that are not of a running task.
func TestTaskAPIWantsALiveIdentity(t *testing.T) {
	t.Parallel()
	a := serveTask(t)
	good := a.token(&api.WorkloadIdentity{})
	stolen := workload.NewClaims(workload.Task{Region: "global", Alloc: "00000000-0000-0000-0000-000000000000", Group: "g", Name: "own", Job: &api.Job{ID: new("own")}}, &api.WorkloadIdentity{}, time.Now())
	gone, err := a.keys.Sign(stolen)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		header http.Header
		status int
		body   string
	}{
		"no token":         {http.Header{}, 401, "Unauthorized"},
		"another scheme":   {http.Header{"Authorization": {"Basic " + good}}, 401, "Unauthorized"},
		"no JWT":           {http.Header{"X-Nomad-Token": {"x"}}, 403, "Forbidden"},
		"an unknown alloc": {http.Header{"X-Nomad-Token": {gone}}, 403, "Forbidden"},
		"good":             {http.Header{"X-Nomad-Token": {good}}, 200, "own"},
	} {
		if status, body := a.ask("GET", "/v1/job/own", c.header); status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s: %d %q, want %d %q", name, status, body, c.status, c.body)
		}
	}
	a.engine.Stop()
	<-a.engine.Done()
	if status, body := a.ask("GET", "/v1/job/own", http.Header{"X-Nomad-Token": {good}}); status != 403 || body != "Forbidden" {
		t.Errorf("of an allocation that has ended: %d %q", status, body)
	}
}

// TestTaskAPIEndsWithItsTask holds connections when the listener is closed, and
// opens more than a task may have.
func TestTaskAPIEndsWithItsTask(t *testing.T) {
	t.Parallel()
	a := serveTask(t)
	var conns []net.Conn
	for range httpapi.ConnectionsPerTask {
		conn, err := net.Dial("unix", a.path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	if status, _ := a.ask("GET", "/v1/services", http.Header{}); status != http.StatusTooManyRequests {
		t.Errorf("one connection more: %d", status)
	}
	if jobs, _, err := a.client.Jobs().List(nil); err != nil || len(jobs) != 2 {
		t.Errorf("the user is not let in: %v, %v", jobs, err)
	}
	_ = a.listener.Close()
	<-a.served
	for _, conn := range conns {
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("a connection outlives the task")
		}
	}
}
