package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// cluster returns a server that responds from a table of objects by path. Other
// paths are not found.
func cluster(t *testing.T, namespace string, answers map[string]any) *Server {
	t.Helper()
	index := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok {
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		index++
		w.Header().Set("X-Nomad-Index", strconv.Itoa(index))
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	s, err := Remote(Cluster{Address: server.URL, Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// An unusable address or secret is an error without the secret.
func TestRemote(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ address, auth, err string }{
		{"http://host:4646", "", ""},
		{"https://user:pass@host", "", ""},
		{"unix:///a/socket", "", ""},
		{"http://host", "user:password", ""},
		{"http://host", "user:", ""},
		{"http://host", "password", "it must be user:password"},
		{"host:4646", "", "it must begin with http://"},
		{"http:host", "", "it must begin with http://"},
		{"//host", "", "it must begin with http://"},
		{"ftp://user:s3cr3t@host", "", `"ftp" is not one of http, https, unix`},
		{"http://user:s3cr3t@ho st", "", "cannot use the address of the cluster"},
	} {
		s, err := Remote(Cluster{Address: tt.address, HTTPAuth: tt.auth})
		if tt.err == "" {
			if err != nil || strings.Contains(s.String(), "pass") {
				t.Errorf("%s: %v, %v", tt.address, s, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: error %v, want %s", tt.address, err, tt.err)
		}
	}
}

// The names of servers are those of runs, or addresses.
func TestNamesOfServers(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]*Server{
		"run web-7": {Socket: "/run/taskrun/web-7.sock"}, "http://host": {Address: "http://host"},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A broken connection is distinguished from an error response.
func TestLost(t *testing.T) {
	t.Parallel()
	answer := errors.New("Unexpected response code: 500")
	broken := &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}
	for _, tt := range []struct {
		err   error
		local error // for a local engine
		lost  bool  // for a cluster
	}{
		{answer, answer, false},
		{io.EOF, io.EOF, false},
		{io.ErrUnexpectedEOF, ErrGone, true},
		{errors.New(io.ErrUnexpectedEOF.Error()), ErrGone, true}, // as Nomad's client returns it
		{broken, ErrGone, true},
	} {
		if got := (&Server{Socket: "/a.sock"}).Lost(tt.err); !errors.Is(got, tt.local) {
			t.Errorf("an engine: %v becomes %v", tt.err, got)
		}
		got := (&Server{Address: "http://host"}).Lost(tt.err)
		if lost := strings.Contains(got.Error(), "the connection was lost"); lost != tt.lost || !errors.Is(got, tt.err) {
			t.Errorf("a cluster: %v becomes %v", tt.err, got)
		}
	}
}

// dying returns an engine that dies whenever it is asked.
func dying(t *testing.T) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "client") //nolint:usetesting // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			conn.Close()
		}
	}()
	s, err := Local(socket)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Jobs of several servers are sorted by name, then in the order of the servers;
// a server that fails is reported, an engine that has ended is not.
func TestListJobs(t *testing.T) {
	t.Parallel()
	list := func(ids ...string) map[string]any {
		var stubs []*api.JobListStub
		for _, id := range ids {
			stubs = append(stubs, &api.JobListStub{ID: id})
		}
		return map[string]any{"/v1/jobs": stubs}
	}
	gone, err := Local("/nowhere/gone.sock")
	if err != nil {
		t.Fatal(err)
	}
	one, other, broken := cluster(t, "", list("c", "a")), cluster(t, "", list("b", "a")), cluster(t, "", nil)
	jobs, errs := ListJobs(t.Context(), []*Server{one, gone, other, dying(t), broken})
	var got []string
	for _, j := range jobs {
		got = append(got, j.ID)
	}
	if !slices.Equal(got, []string{"a", "a", "b", "c"}) || jobs[0].Server != one || jobs[1].Server != other {
		t.Errorf("listed are %v", got)
	}
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "404") {
		t.Errorf("errors %v", errs)
	}
}

// Allocations are those of a job, even if all namespaces are requested, in
// which other jobs may have the same ID.
func TestAllocationsOfAJob(t *testing.T) {
	t.Parallel()
	stubs := []*api.AllocationListStub{{ID: "1", JobID: "web", Name: "web.g[0]"}, {ID: "2", JobID: "zoo", Name: "zoo.g[0]"}}
	for _, tt := range []struct {
		namespace, job, want string
		answers              map[string]any
	}{
		{"", "web", "1", map[string]any{"/v1/job/web/allocations": stubs[:1]}},
		{"*", "web", "1", map[string]any{"/v1/allocations": stubs}},
		{"", "", "1 2", map[string]any{"/v1/allocations": stubs}},
		{"*", "", "1 2", map[string]any{"/v1/allocations": stubs}},
	} {
		list, _, err := cluster(t, tt.namespace, tt.answers).Tasks(t.Context(), tt.job, 0)
		var ids []string
		for _, task := range list {
			ids = append(ids, task.Alloc.ID)
		}
		if got := strings.Join(ids, " "); err != nil || got != tt.want {
			t.Errorf("job %q in namespace %q: %q, %v", tt.job, tt.namespace, got, err)
		}
	}
}

// FollowTasks shows the tasks until the context ends or the server does not answer.
func TestFollowTasks(t *testing.T) {
	t.Parallel()
	s := cluster(t, "", map[string]any{"/v1/allocations": []*api.AllocationListStub{{ID: "1", TaskStates: map[string]*api.TaskState{"t": {}}}}})
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	s.FollowTasks(ctx, "", func(tasks []*Task) {
		if len(tasks) != 1 || tasks[0].Name != "t" {
			t.Errorf("tasks %v", tasks)
		}
		if seen++; seen == 3 {
			cancel()
		}
	})
	if seen != 3 {
		t.Errorf("seen %d times", seen)
	}
	ended, err := Local("/nowhere/ended.sock")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Server{cluster(t, "", nil), ended} {
		s.FollowTasks(t.Context(), "", func([]*Task) { t.Errorf("%v has tasks", s) })
	}
}

// A task has output once it has started, and writes no more once its allocation
// has ended.
func TestStartedAndEnded(t *testing.T) {
	t.Parallel()
	at, before := &api.TaskState{StartedAt: time.Now()}, &api.TaskState{}
	for name, tt := range map[string]struct {
		task           Task
		started, ended bool
	}{
		"waits":    {Task{Name: "t", State: before, Alloc: &api.AllocationListStub{ClientStatus: "pending"}}, false, false},
		"runs":     {Task{Name: "t", State: at, Alloc: &api.AllocationListStub{ClientStatus: "running"}}, true, false},
		"complete": {Task{Name: "t", State: at, Alloc: &api.AllocationListStub{ClientStatus: "complete"}}, true, true},
		"failed":   {Task{Name: "t", State: before, Alloc: &api.AllocationListStub{ClientStatus: "failed"}}, false, true},
		"lost":     {Task{Name: "t", State: before, Alloc: &api.AllocationListStub{ClientStatus: "lost"}}, false, true},
		"no task":  {Task{State: at, Alloc: &api.AllocationListStub{}}, false, false},
	} {
		if tt.task.Started() != tt.started || tt.task.Ended() != tt.ended {
			t.Errorf("%s: started %t, ended %t", name, tt.task.Started(), tt.task.Ended())
		}
	}
}

// A query is repeated while another engine replaces one that died, but not
// forever, and not after an answer.
func TestAskAgain(t *testing.T) {
	t.Parallel()
	died := io.ErrUnexpectedEOF
	for name, tt := range map[string]struct {
		err   error
		back  bool
		fails int // how many times
		asked int
		ok    bool
	}{
		"answers":       {died, true, 0, 1, true},
		"comes back":    {died, true, 2, 3, true},
		"is gone":       {died, false, 9, 1, false},
		"dies too much": {died, true, 99, maxAsked, false},
		"refuses":       {errors.New("no"), true, 99, 1, false},
	} {
		asked, ends := 0, []context.Context(nil)
		s := &Server{Socket: "/a.sock", Back: func(context.Context) bool { return tt.back }}
		_, _, err := ask(t.Context(), s, "ask", 0, func(q *api.QueryOptions) (any, *api.QueryMeta, error) {
			ends = append(ends, q.Context())
			if asked++; asked > tt.fails {
				return nil, &api.QueryMeta{}, nil
			}
			return nil, nil, tt.err
		})
		if (err == nil) != tt.ok || asked != tt.asked {
			t.Errorf("%s: asked %d times, %v", name, asked, err)
		}
		if name == "refuses" && (err == nil || !strings.Contains(err.Error(), "cannot ask of run a")) {
			t.Errorf("%s: the request or the server is not named: %v", name, err)
		}
		if slices.ContainsFunc(ends, func(ctx context.Context) bool { return ctx.Err() == nil }) {
			t.Errorf("%s: a request is not over", name)
		}
	}
}

// A dead engine is distinguished from one that returns an error, for every kind
// of connection error.
func TestDied(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		syscall.ECONNREFUSED: true, fs.ErrNotExist: true, io.EOF: true, io.ErrUnexpectedEOF: true,
		syscall.ECONNRESET: true, syscall.EPIPE: true, syscall.EACCES: false, io.ErrClosedPipe: false,
	} {
		err = &net.OpError{Op: "dial", Err: err}
		if got := died(err); got != want {
			t.Errorf("%v: died: %t, want %t", err, got, want)
		}
	}
	for err, want := range map[error]bool{
		errors.New("http: server closed idle connection"): true, &net.OpError{Op: "dial", Err: syscall.EACCES}: false,
	} {
		if got := died(reason(t.Context(), &url.Error{Op: "Get", Err: err})); got != want {
			t.Errorf("a request fails with %v: died: %t, want %t", err, got, want)
		}
	}
	engine, ended := &Server{Socket: "/a.sock"}, fmt.Errorf("cannot ask: %w", io.EOF)
	if !engine.Died(ended) || engine.Died(errors.New("no")) || (&Server{}).Died(ended) {
		t.Error("an engine dies, and a cluster does not")
	}
	if engine.retry(t.Context(), func() error { return ended }) == nil {
		t.Error("an engine that does not come back has answered")
	}
}

// Tasks of several servers are sorted by job, group, index, age and name; an
// allocation without known tasks is a task without a name.
func TestList(t *testing.T) {
	t.Parallel()
	stub := func(job, group string, index int, created int64, tasks ...string) *api.AllocationListStub {
		states := map[string]*api.TaskState{}
		for _, name := range tasks {
			states[name] = &api.TaskState{}
		}
		return &api.AllocationListStub{
			JobID: job, TaskGroup: group, Name: fmt.Sprintf("%s.%s[%d]", job, group, index), CreateTime: created, CreateIndex: uint64(created), TaskStates: states,
		}
	}
	const path = "/v1/allocations"
	one := cluster(t, "", map[string]any{path: []any{stub("web", "b", 10, 1, "t"), stub("web", "b", 2, 5, "t"), stub("web", "b", 2, 4, "y", "x"), stub("web", "a", 3, 9)}})
	other, broken := cluster(t, "", map[string]any{path: []any{stub("api", "z", 0, 1, "t"), stub("web", "b", 0, 1, "t")}}), cluster(t, "", nil)
	tasks, failed := List(t.Context(), []*Server{one, broken, other}, "")
	var got []string
	for _, task := range tasks {
		got = append(got, fmt.Sprintf("%s@%d/%s", task.Alloc.Name, task.Alloc.CreateTime, task.Name))
		if want := map[bool]*Server{true: other, false: one}[task.Alloc.JobID == "api" || task.Index == 0]; task.Server != want {
			t.Errorf("%s is of %v", got[len(got)-1], task.Server)
		}
	}
	want := []string{"api.z[0]@1/t", "web.a[3]@9/", "web.b[0]@1/t", "web.b[2]@4/x", "web.b[2]@4/y", "web.b[2]@5/t", "web.b[10]@1/t"}
	if !slices.Equal(got, want) {
		t.Errorf("listed are\n%q, want\n%q", got, want)
	}
	if alone, _, err := one.Tasks(t.Context(), "", 0); err != nil || !slices.EqualFunc(alone, slices.DeleteFunc(slices.Clone(tasks), func(t *Task) bool { return t.Server != one }), func(a, b *Task) bool {
		return a.Alloc.Name == b.Alloc.Name && a.Alloc.CreateTime == b.Alloc.CreateTime && a.Name == b.Name
	}) {
		t.Errorf("the tasks of one server are in another order: %v", err)
	}
	if len(failed) != 1 || !strings.HasPrefix(failed[0].Error(), "cannot list the tasks of http://") {
		t.Errorf("failed %v", failed)
	}
	if tasks[1].State == nil || tasks[1].Running() {
		t.Error("an allocation without known tasks runs")
	}
}

// A task of an ended allocation is outlived by a later one with its name and
// namespace, and replaced by one that the server names.
func TestOutlived(t *testing.T) {
	t.Parallel()
	stub := func(namespace, name, status string, created uint64, next string) *api.AllocationListStub {
		return &api.AllocationListStub{Namespace: namespace, Name: name, ClientStatus: status, CreateIndex: created, NextAllocation: next}
	}
	tasks := new(Server).split([]*api.AllocationListStub{
		stub("a", "web.g[0]", "failed", 1, ""), stub("a", "web.g[0]", "running", 2, ""), stub("a", "web.g[0]", "complete", 3, ""),
		stub("a", "web.g[1]", "failed", 1, ""), stub("b", "web.g[0]", "failed", 1, ""), stub("a", "web.g[2]", "failed", 1, "x"),
	})
	var outlived, replaced []int
	for i, task := range tasks {
		if task.Outlived() {
			outlived = append(outlived, i)
		}
		if task.Replaced() {
			replaced = append(replaced, i)
		}
	}
	if !slices.Equal(outlived, []int{0}) || !slices.Equal(replaced, []int{0, 5}) {
		t.Errorf("outlived are %v, replaced %v", outlived, replaced)
	}
}

// The duration of a task ends with the task; how it ended is its last exit
// code.
func TestRanAndExitCode(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	for name, tt := range map[string]struct {
		state api.TaskState
		ran   time.Duration
	}{
		"not started":      {api.TaskState{State: "pending"}, 0},
		"never started":    {api.TaskState{State: "dead", FinishedAt: at(900)}, 0},
		"runs":             {api.TaskState{State: "running", StartedAt: at(990)}, 10 * time.Second},
		"runs again":       {api.TaskState{State: "running", StartedAt: at(990), FinishedAt: at(980)}, 10 * time.Second},
		"by another clock": {api.TaskState{State: "running", StartedAt: at(1010)}, 0},
		"has ended":        {api.TaskState{State: "dead", StartedAt: at(900), FinishedAt: at(903)}, 3 * time.Second},
		"is ending":        {api.TaskState{State: "dead", StartedAt: at(990)}, 10 * time.Second},
		"was stopped alone": {api.TaskState{State: "pending", StartedAt: at(990), Events: []*api.TaskEvent{
			{Type: api.TaskTerminated, Time: at(980).UnixNano()},
			{Type: api.TaskTerminated, Time: at(995).UnixNano()},
			{Type: event.TaskPausing, Time: at(996).UnixNano()},
		}}, 5 * time.Second},
		"was stopped, but never ended": {api.TaskState{State: "pending", StartedAt: at(990), Events: []*api.TaskEvent{{Type: event.TaskPausing}}}, 0},
	} {
		if got := (&Task{State: &tt.state}).Ran(now); got != tt.ran {
			t.Errorf("%s: ran for %v, want %v", name, got, tt.ran)
		}
	}
	terminated := func(code string) *api.TaskEvent {
		return &api.TaskEvent{Type: api.TaskTerminated, Details: map[string]string{"exit_code": code}}
	}
	other := &api.TaskEvent{Type: api.TaskStarted, Details: map[string]string{"exit_code": "9"}}
	for _, tt := range []struct {
		events []*api.TaskEvent
		want   string
	}{
		{nil, "none"},
		{[]*api.TaskEvent{other, terminated("")}, "none"},
		{[]*api.TaskEvent{terminated("1"), terminated("2"), other}, "2"},
		{[]*api.TaskEvent{terminated("1"), terminated("")}, "1"},
	} {
		got := "none"
		if code := (&Task{State: &api.TaskState{Events: tt.events}}).ExitCode(); code != nil {
			got = strconv.Itoa(*code)
		}
		if got != tt.want {
			t.Errorf("exit code %s, want %s", got, tt.want)
		}
	}
}
