package neighbors

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi"
)

// run is another run, which offers one service.
type run struct {
	*httptest.Server

	dataDir string
	broken  bool

	mu      sync.Mutex
	index   int
	service string
	changed chan struct{}
	ended   chan struct{}
	asked   []string // paths of requests
}

// start starts a run with a socket in a directory.
func start(t *testing.T, sockets, job string, pid int, r *run) *run {
	t.Helper()
	l, _, err := httpapi.Listen(sockets, httpapi.SocketName(job, pid))
	if err != nil {
		t.Fatal(err)
	}
	r.index, r.service, r.changed, r.ended = 1, job, make(chan struct{}), make(chan struct{})
	r.Server = &httptest.Server{Listener: l, Config: &http.Server{Handler: r}}
	r.Start()
	t.Cleanup(r.end)
	return r
}

func (r *run) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, q.URL.Path)
	if after, _ := strconv.Atoi(q.FormValue("index")); after == r.index {
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-r.ended:
		}
		r.mu.Lock()
	}
	w.Header().Set("X-Nomad-Index", strconv.Itoa(r.index))
	switch path := q.URL.Path; {
	case r.over():
		panic(http.ErrAbortHandler)
	case r.broken:
		w.WriteHeader(http.StatusInternalServerError)
	case path == "/v1/agent/self":
		_ = json.NewEncoder(w).Encode(api.AgentSelf{Stats: map[string]map[string]string{"taskrun": {"data_dir": r.dataDir}}})
	case path == "/v1/services":
		_ = json.NewEncoder(w).Encode([]api.ServiceRegistrationListStub{{
			Namespace: "default", Services: []*api.ServiceRegistrationStub{{ServiceName: r.service}},
		}})
	case strings.HasPrefix(path, "/v1/service/"):
		_ = json.NewEncoder(w).Encode([]*api.ServiceRegistration{{ID: r.service, ServiceName: r.service}})
	}
}

// end ends the run, and everything that waits for it.
func (r *run) end() {
	if !r.over() {
		close(r.ended)
		r.CloseClientConnections()
		r.Close()
	}
}

func (r *run) over() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// change replaces the service of the run.
func (r *run) change(service string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.index++
	r.service = service
	close(r.changed)
	r.changed = make(chan struct{})
}

// count returns how often a path was requested.
func (r *run) count(path string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.asked {
		if path == "" || p == path {
			n++
		}
	}
	return n
}

// follow returns the neighbors of a run with PID 1 in the data directory "mine",
// and a function that waits until they have certain services.
func follow(t *testing.T, sockets string, scope Scope) (n *Neighbors, wait func(want ...string)) {
	t.Helper()
	woken := make(chan struct{}, 100)
	n = New(Run{Sockets: sockets, PID: 1, DataDir: "mine", Scope: scope}, func() { woken <- struct{}{} })
	t.Cleanup(n.Close)
	return n, func(want ...string) {
		t.Helper()
		limit := time.After(time.Minute)
		for {
			var got []string
			for _, i := range n.Instances() {
				got = append(got, i.ServiceName)
			}
			if slices.Equal(got, want) {
				return
			}
			select {
			case <-woken:
			case <-limit:
				t.Fatalf("services %v, want %v", got, want)
			}
		}
	}
}

// folder returns a directory for sockets, whose path is short enough.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "n") //nolint:usetesting // t.TempDir() may be too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// The scope decides which runs are neighbors. A run never asks itself.
func TestScopes(t *testing.T) {
	t.Parallel()
	for scope, want := range map[Scope][]string{
		DataDir: {"near"}, All: {"far", "near"}, None: nil,
	} {
		t.Run(string(scope), func(t *testing.T) {
			t.Parallel()
			sockets := folder(t)
			itself := start(t, sockets, "itself", 1, &run{dataDir: "mine"})
			start(t, sockets, "broken", 2, &run{dataDir: "mine", broken: true})
			far := start(t, sockets, "far", 3, &run{dataDir: "other"})
			near := start(t, sockets, "near", 4, &run{dataDir: "mine"})
			_, wait := follow(t, sockets, scope)
			wait(want...)
			if n := itself.count(""); n > 0 {
				t.Errorf("the run asked itself %d times", n)
			}
			if scope == None && near.count("") > 0 {
				t.Error("a run was asked")
			}
			if scope == DataDir && far.count("/v1/services") > 0 {
				t.Error("a run of another data directory was asked for its services")
			}
		})
	}
}

// Neighbors come, change their services, and go. Each is asked who it is once.
func TestFollow(t *testing.T) {
	t.Parallel()
	sockets := folder(t)
	a := start(t, sockets, "a", 2, &run{dataDir: "mine"})
	far := start(t, sockets, "far", 3, &run{dataDir: "other"})
	_, wait := follow(t, sockets, DataDir)
	wait("a")
	a.change("a2")
	wait("a2")
	b := start(t, sockets, "b", 4, &run{dataDir: "mine"})
	wait("a2", "b")
	for name, r := range map[string]*run{"a": a, "b": b, "far": far} {
		if n := r.count("/v1/agent/self"); n != 1 {
			t.Errorf("%s was asked who it is %d times", name, n)
		}
	}
	a.end()
	wait("b")
}

func TestNoDirectory(t *testing.T) {
	t.Parallel()
	n, _ := follow(t, filepath.Join(t.TempDir(), "none"), All)
	if list := n.Instances(); len(list) > 0 {
		t.Errorf("there is %v", list)
	}
}
