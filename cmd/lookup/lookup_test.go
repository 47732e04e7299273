package lookup

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/console"
	"taskrun/cmd/history"
	"taskrun/cmd/record"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/view"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/event"
)

// user is a user with engines, and with runs in data directories.
type user struct {
	*Finder
	stderr       func() string
	sockets, dir string // dir is the data directory
}

func newUser(t *testing.T) *user {
	t.Helper()
	base, err := os.MkdirTemp("", "lookup") //nolint:usetesting // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	streams, _, stderr := ui.Test()
	streams.Env = func(name string) string {
		return map[string]string{"XDG_RUNTIME_DIR": base, "XDG_STATE_HOME": filepath.Join(base, "state")}[name]
	}
	u := &user{NewFinder(&console.Console{Streams: streams}), stderr.String, "", filepath.Join(base, "state", "taskrun")}
	if u.sockets, err = u.MakeSockets(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(u.sockets); err != nil || !info.IsDir() {
		t.Fatalf("there is no directory for sockets: %v", err)
	}
	return u
}

// fakeEngine says of itself what it is told.
type fakeEngine struct {
	agent   bool
	dataDir string
	runs    map[string]string // directories of jobs
	jobs    []*api.JobListStub
	pid     int // 0: of this process
}

// serve serves an engine until the test ends.
func (u *user) serve(t *testing.T, e fakeEngine) {
	t.Helper()
	if e.dataDir == "" {
		e.dataDir = u.dir
	}
	if e.pid == 0 {
		e.pid = os.Getpid()
	}
	there, _ := os.ReadDir(u.sockets)
	l, _, err := httpapi.Listen(u.sockets, httpapi.SocketName(fmt.Sprintf("engine%d", len(there)), e.pid))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		switch r.URL.Path {
		case "/v1/agent/self":
			answer = map[string]any{"stats": map[string]any{
				"taskrun": map[string]string{"agent": fmt.Sprint(e.agent), "data_dir": e.dataDir}, "runs": e.runs,
			}}
		case "/v1/jobs":
			answer = e.jobs
		case "/v1/job/web":
			answer = &api.Job{ID: new("web"), Name: new("current")}
		default:
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
}

// runs returns the directories of runs, given the keys of jobs.
func (u *user) runs(jobs ...string) map[string]string {
	dirs := map[string]string{}
	for _, job := range jobs {
		dirs[job] = datadir.RunDir(u.dir, job, "20260102T030405.000Z-0001")
	}
	return dirs
}

func stub(namespace, id, parent, status string) *api.JobListStub {
	return &api.JobListStub{Namespace: namespace, ID: id, ParentID: parent, Status: status}
}

func TestFindRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		engines []fakeEngine
		job     string
		dataDir string
		want    string // its jobs
		err     string
	}{
		{"no engine", nil, "", "", "", "failed | no job runs here | start one with: taskrun up FILE"},
		{"an agent without jobs", []fakeEngine{{agent: true}}, "web", "", "", "failed | no job runs here | start one with: taskrun up FILE"},
		{"the only one", []fakeEngine{{runs: map[string]string{"web": "/w"}}, {agent: true}}, "", "", "web", ""},
		{"by name", []fakeEngine{{runs: map[string]string{"web": "/w"}}, {runs: map[string]string{"db": "/d"}}}, "db", "", "db", ""},
		{
			"several",
			[]fakeEngine{{runs: map[string]string{"web": "/w"}}, {runs: map[string]string{"db": "/d"}}},
			"", "", "",
			"usage | several runs match: name a job | running jobs: db, web",
		},
		{
			"another",
			[]fakeEngine{{runs: map[string]string{"web": "/w", "db shop": "/d"}}},
			"none", "", "",
			`failed | job "none" is not running here | running jobs: db@shop, web`,
		},
		{
			"another in a data directory",
			[]fakeEngine{{runs: map[string]string{"web": "/w"}, dataDir: "/a"}},
			"none", "/a", "",
			`failed | job "none" is not running in data directory "/a" | running jobs: web`,
		},
		{
			"twice",
			[]fakeEngine{{runs: map[string]string{"web": "/w"}, dataDir: "/a"}, {runs: map[string]string{"web": "/w"}, dataDir: "/b"}},
			"web", "", "",
			`usage | job "web" is running in several data directories | choose one with --data-dir`,
		},
		{
			"one of two data directories",
			[]fakeEngine{{runs: map[string]string{"web": "/w", "a": "/a"}, dataDir: "/a"}, {runs: map[string]string{"web": "/w"}, dataDir: "/b"}},
			"web", "/a", "a web", "",
		},
		{"in a namespace, by ID", []fakeEngine{{runs: map[string]string{"web shop": "/w"}}}, "web", "", "web@shop", ""},
		{"in the default namespace", []fakeEngine{{runs: map[string]string{"web shop": "/w"}}, {runs: map[string]string{"web": "/w"}}}, "web", "", "web", ""},
		{
			"in two namespaces",
			[]fakeEngine{{runs: map[string]string{"web shop": "/w", "web farm": "/w"}}},
			"web", "", "",
			`usage | job "web" is ambiguous | running jobs: web@farm, web@shop`,
		},
		{
			"ended, and in another namespace", []fakeEngine{{
				agent: true, runs: map[string]string{"web": "/w", "web shop": "/w"},
				jobs: []*api.JobListStub{stub("default", "web", "", "dead"), stub("shop", "web", "", "running")},
			}}, "web", "", "", `failed | job "web" is not running here | running jobs: web@shop`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			for _, e := range tt.engines {
				u.serve(t, e)
			}
			d, err := u.FindRun(t.Context(), tt.job, tt.dataDir)
			got := ""
			if d != nil {
				got = strings.Join(JobNames(d.IDs), " ")
			}
			if got != tt.want || shown(err) != tt.err {
				t.Errorf("%q, %q\nwant %q, %q", got, shown(err), tt.want, tt.err)
			}
		})
	}
}

// A suspended engine would not answer, and is left out with a warning. If it is the
// only one, that is an error.
func TestSuspendedEngine(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	cmd := exec.Command("sh", "-c", "kill -STOP $$")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	pid := cmd.Process.Pid
	if _, err := syscall.Wait4(pid, nil, syscall.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
	u.serve(t, fakeEngine{runs: u.runs("web"), pid: pid})
	want := fmt.Sprintf("process %d, an engine, is suspended: continue it with fg in its shell, or with: kill -CONT %d", pid, pid)
	for _, failing := range []func() error{
		func() error { _, err := u.LocalServers(t.Context(), ""); return err },
		func() error { _, err := u.LiveRuns(t.Context(), ""); return err },
		func() error { _, err := u.FindAgent(t.Context(), ""); return err },
		func() error { _, err := u.FindRun(t.Context(), "web", ""); return err },
		func() error { _, err := u.OpenRun(t.Context(), "web", ""); return err },
		func() error { _, err := u.RunningJob(t.Context(), *connection(t), "web"); return err },
	} {
		if err := failing(); err == nil || err.Error() != want {
			t.Errorf("with a suspended engine: %v", err)
		}
	}
	u.serve(t, fakeEngine{agent: true, runs: u.runs("db")})
	for range 2 {
		servers, err := u.LocalServers(t.Context(), "")
		if err != nil || len(servers) != 1 || u.stderr() != "warning: "+want+"\n" {
			t.Errorf("%v, %v, warned %q", servers, err, u.stderr())
		}
	}
}

// The agent of a data directory is one of its engines.
func TestFindAgent(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.serve(t, fakeEngine{runs: u.runs("web"), dataDir: "/a"})
	u.serve(t, fakeEngine{agent: true, dataDir: "/b"})
	for dir, want := range map[string]string{"/a": "", "/b": "/b", "": "/b"} {
		got, err := u.FindAgent(t.Context(), dir)
		if err != nil || (got != nil) != (want != "") || got != nil && got.Self.DataDir != want {
			t.Errorf("%q: %v, %v", dir, got, err)
		}
	}
}

// Jobs and tasks of engines are found through connections.
func TestRunningJob(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	c := *connection(t)
	if _, err := u.RunningJob(t.Context(), c, "web"); shown(err) != "failed | no job runs here | start one with: taskrun up FILE" {
		t.Errorf("without an engine: %q", shown(err))
	}
	if servers, tasks, err := u.Tasks(t.Context(), c); servers != nil || tasks != nil || err != nil {
		t.Errorf("without an engine: %v, %v, %v", servers, tasks, err)
	}
	u.serve(t, fakeEngine{runs: u.runs("web"), jobs: []*api.JobListStub{stub("default", "web", "", "running")}})
	j, err := u.RunningJob(t.Context(), c, "web")
	if err != nil || j.Name() != "web" {
		t.Errorf("%v, %v", j, err)
	}
	if j, err := u.RunningVersion(t.Context(), c, job("default", "global")); err != nil || j.Name() != "web" {
		t.Errorf("%v, %v", j, err)
	}
	other := job("default", "global")
	other.ID = new("db")
	if _, err := u.RunningVersion(t.Context(), c, other); shown(err) != `failed | no job is called "db" | jobs are: web` {
		t.Errorf("of another job: %q", shown(err))
	}
	if _, _, err := u.Tasks(t.Context(), c); err == nil {
		t.Error("the engine lists no allocations, and that is no error")
	}
	c = *connection(t, "--region=r")
	if _, _, err := u.Tasks(t.Context(), c); err == nil {
		t.Error("a connection that is wrong is no error")
	}
	if _, err := u.RunningVersion(t.Context(), c, other); !strings.Contains(shown(err), "it requires --address") {
		t.Errorf("of a connection that is wrong: %q", shown(err))
	}
}

// A job that another job has launched is found as long as it is not dead.
func TestFindLaunched(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.serve(t, fakeEngine{runs: u.runs("batch"), jobs: []*api.JobListStub{
		stub("default", "batch", "", "running"), stub("default", "batch/dispatch-1", "batch", "running"),
		stub("default", "batch/dispatch-2", "batch", "dead"), stub("default", "own/1", "", "running"),
	}})
	for name, want := range map[string]string{
		"batch/dispatch-1": "batch/dispatch-1", "batch/dispatch-2": "", "batch/dispatch-3": "", "own/1": "", "batch": "",
	} {
		d, key := u.FindLaunched(t.Context(), name, "")
		if key != want || (d != nil) != (want != "") {
			t.Errorf("%s: %v, %q", name, d != nil, key)
		}
	}
}

// Of an agent, whose jobs have nothing to do with each other, one job is meant.
func TestOneOfAgent(t *testing.T) {
	t.Parallel()
	both := map[string]string{"web shop": "/w", "db": "/d"}
	for _, tt := range []struct {
		agent           bool
		runs            map[string]string
		name, want, err string
	}{
		{false, both, "", "db web@shop", ""},
		{true, both, "", "db web@shop", "usage | several jobs are running: name one | running jobs: db, web@shop"},
		{true, both, "web", "web@shop", ""},
		{true, map[string]string{"db": "/d"}, "", "db", ""},
	} {
		d := source.NewDirectory(&client.Server{}, &client.Self{Agent: tt.agent, Runs: tt.runs})
		err := OneOfAgent(d, tt.name)
		if got := strings.Join(JobNames(d.IDs), " "); got != tt.want || shown(err) != tt.err || (len(d.Only) == 1) != (tt.agent && err == nil) {
			t.Errorf("%+v: %q, %v, %q", tt, got, d.Only, shown(err))
		}
	}
}

// keep makes what is kept of a run of a job with one task, which has ended if it has a summary.
func (u *user) keep(t *testing.T, job, id, task string, ended bool) string {
	t.Helper()
	dir := datadir.RunDir(u.dir, job, id)
	alloc := &event.Alloc{Job: job, Group: "g", Name: "j.g[0]", ID: id + "-4444-4444-4444-444444444444"}
	if err := os.MkdirAll(filepath.Join(dir, "alloc", alloc.ID), 0o700); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for i, body := range []event.Body{
		event.AllocStatus{Status: "complete"}, event.TaskEvent{TaskEvent: event.Started()}, event.TaskState{State: "dead"},
	} {
		e := event.Event{Time: time.Unix(int64(i), 0), Alloc: alloc, Body: body}
		if i > 0 {
			e.Task = task
		}
		line, err := e.Line(uint64(i) + 1)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, line...)
	}
	err := errors.Join(os.WriteFile(filepath.Join(dir, history.File), text, 0o600), record.WriteJob(dir, []byte(`{"ID":"web","Name":"kept"}`)))
	if ended {
		err = errors.Join(err, record.Write(dir, &view.Summary{Job: job, Status: "complete"}))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func names(runs []*record.Run) string {
	var list []string
	for _, r := range runs {
		list = append(list, r.Name())
	}
	return strings.Join(list, " ")
}

// threeRuns makes two runs of a job, of which one is live, and one of another.
func threeRuns(t *testing.T) *user {
	t.Helper()
	u := newUser(t)
	u.keep(t, "web", "20260101T000000.000Z-aaaa", "old", true)
	live := u.keep(t, "web", "20260103T000000.000Z-bbbb", "new", false)
	u.keep(t, "db", "20260102T000000.000Z-cccc", "data", true)
	u.serve(t, fakeEngine{runs: map[string]string{"web": live}})
	return u
}

func TestKeptRuns(t *testing.T) {
	t.Parallel()
	u := threeRuns(t)
	const old, live, db = "web/20260101T000000.000Z-aaaa", "web/20260103T000000.000Z-bbbb", "db/20260102T000000.000Z-cccc"
	for job, want := range map[string]string{"": db + " " + live + " " + old, "web": live + " " + old, "none": ""} {
		if runs, err := u.AllRuns(t.Context(), "", job); err != nil || names(runs) != want {
			t.Errorf("all of %q: %s, %v, want %s", job, names(runs), err, want)
		}
	}
	if runs, err := u.EndedRuns(t.Context(), "", ""); err != nil || names(runs) != db {
		t.Errorf("ended: %s, %v", names(runs), err)
	}
	of := func(job string) *client.Task {
		return client.Kept(&api.AllocationListStub{JobID: job, Name: "j.g[0]"}, "t", &api.TaskState{}, nil)
	}
	if runs, err := u.RunsOf(t.Context(), of("web"), ""); err != nil || names(runs) != live+" "+old {
		t.Errorf("of a task: %s, %v", names(runs), err)
	}
	servers, err := u.LocalServers(t.Context(), "")
	if err != nil || len(servers) != 1 {
		t.Fatalf("servers %v, %v", servers, err)
	}
	for job, want := range map[string]string{"web": live, "db": ""} {
		task := of(job)
		task.Server = servers[0]
		if runs, err := u.RunsOf(t.Context(), task, ""); err != nil || names(runs) != want {
			t.Errorf("of a task of %s that an engine has: %s, %v", job, names(runs), err)
		}
	}
}

// Targets match tasks of the newest run that has all of them.
func TestEndedTasks(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.keep(t, "web", "20260101T000000.000Z-aaaa", "app", true)
	u.keep(t, "db", "20260102T000000.000Z-bbbb", "app", true)
	u.keep(t, "queue", "20260103T000000.000Z-cccc", "broker", true)
	for _, tt := range []struct {
		targets []string
		all     int
		runs    string
	}{
		{[]string{"app"}, 1, "db/20260102T000000.000Z-bbbb"},
		{[]string{"app", "broker"}, 3, "db/20260102T000000.000Z-bbbb queue/20260103T000000.000Z-cccc web/20260101T000000.000Z-aaaa"},
		{[]string{"web/app", "broker"}, 3, "queue/20260103T000000.000Z-cccc web/20260101T000000.000Z-aaaa"},
	} {
		all, selected, runs, err := u.EndedTasks(t.Context(), "", "", tt.targets)
		if err != nil || len(all) != tt.all || names(runs) != tt.runs || len(selected.Of(all)) != len(runs) {
			t.Errorf("%q: %d tasks, %s, %v", tt.targets, len(all), names(runs), err)
		}
	}
	if all, selected, runs, err := u.EndedTasks(t.Context(), "", "", []string{"none"}); err == nil || all != nil || selected != nil || runs != nil {
		t.Errorf("nothing matches: %v, %v, %v, %v", all, selected, runs, err)
	}
}

func TestTaskAtRest(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.keep(t, "web", "20260101T000000.000Z-aaaa", "app", true)
	why := errors.New("no such task")
	task := func(id, name, state string) *client.Task {
		return client.Kept(&api.AllocationListStub{ID: id, Name: "j.g[" + id[:1] + "]", JobID: "j", TaskGroup: "g"}, name, &api.TaskState{State: state}, nil)
	}
	replaced := task("3-345678", "again", "dead")
	replaced.Alloc.NextAllocation = "4-345678"
	all := []*client.Task{task("0-345678", "up", "running"), task("1-345678", "two", "dead"), task("2-345678", "two", "dead"), replaced, task("4-345678", "again", "dead")}
	for _, tt := range []struct{ target, address, want, err string }{
		{"up", "", "", "no such task"},
		{"two", "", "", `"two" matches 2 tasks; neither is running`},
		{"again", "", "4-345678", ""},
		{"app", "", "20260101T000000.000Z-aaaa-4444-4444-4444-444444444444", ""},
		{"app", "http://n:4646", "", "no such task"},
		{"none", "", "", "no such task"},
	} {
		got, labels, err := u.TaskAtRest(t.Context(), slices.Clone(all), tt.target, Connection{Cluster: client.Cluster{Address: tt.address}}, why)
		switch {
		case err == nil:
			t.Errorf("%s: no error", tt.target)
		case tt.want == "" && (got != nil || labels != nil || err.Error() != tt.err):
			t.Errorf("%s: %v, %v, %v", tt.target, got, labels, err)
		case tt.want != "" && (got == nil || got.Alloc.ID != tt.want || labels[got] == "" || !strings.Contains(err.Error(), "is dead")):
			t.Errorf("%s: %v, %v, %v", tt.target, got, labels, err)
		}
	}
}

func TestOpenAtRest(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.keep(t, "web", "20260101T000000.000Z-aaaa", "app", true)
	newest := u.keep(t, "web", "20260102T000000.000Z-bbbb", "app", true)
	of := func(alloc string) *client.Task {
		return client.Kept(&api.AllocationListStub{ID: alloc, JobID: "web", Name: "j.g[0]"}, "app", &api.TaskState{}, nil)
	}
	id := "20260101T000000.000Z-aaaa-4444-4444-4444-444444444444"
	root, err := u.OpenAtRest(t.Context(), of(id), "")
	if err != nil || filepath.Base(root.Name()) != id {
		t.Fatalf("%v, %v", root, err)
	}
	root.Close()
	if _, err := u.OpenAtRest(t.Context(), of("removed"), ""); err == nil || err.Error() != "the directory of its allocation was removed" {
		t.Errorf("one that was removed: %v", err)
	}
	if err := os.WriteFile(filepath.Join(newest, "alloc", "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := u.OpenAtRest(t.Context(), of("file"), ""); err == nil || !strings.HasSuffix(err.Error(), "file: not a directory") {
		t.Errorf("a file: %v", err)
	}
}

func TestOpenRun(t *testing.T) {
	t.Parallel()
	u := threeRuns(t)
	for _, tt := range []struct {
		name, want string
		live       bool
		err        string
	}{
		{"", "web/20260103T000000.000Z-bbbb", true, ""},
		{"web", "web/20260103T000000.000Z-bbbb", true, ""},
		{"web/bbbb", "web/20260103T000000.000Z-bbbb", true, ""},
		{"web/20260101", "web/20260101T000000.000Z-aaaa", false, ""},
		{"db", "db/20260102T000000.000Z-cccc", false, ""},
		{datadir.RunDir(u.dir, "db", "20260102T000000.000Z-cccc"), "db/20260102T000000.000Z-cccc", false, ""},
		{"none", "", false, `failed | no run matches "none" | see: taskrun runs`},
		{"2026", "", false, `usage | run "2026" is ambiguous: web/20260103T000000.000Z-bbbb, db/20260102T000000.000Z-cccc, web/20260101T000000.000Z-aaaa | see: taskrun runs`},
	} {
		r, err := u.OpenRun(t.Context(), tt.name, "")
		if shown(err) != tt.err || (r != nil) != (tt.want != "") {
			t.Errorf("%q: %v, %q", tt.name, r, shown(err))
			continue
		}
		if r == nil {
			continue
		}
		if r.Name() != tt.want || r.Live != tt.live || (r.Engine != nil) != tt.live {
			t.Errorf("%q: %s, live %v, engine %v", tt.name, r.Name(), r.Live, r.Engine)
		}
		known := "kept"
		if tt.live {
			known = "current"
		}
		if j, err := r.KnownJob(t.Context()); err != nil || *j.Name != known {
			t.Errorf("%q: the job %v, %v", tt.name, j, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	u = newUser(t)
	for name, want := range map[string]string{"": "failed | no job runs here | start one with: taskrun up FILE", "x": `failed | no run matches "x" | see: taskrun runs`} {
		if _, err := u.OpenRun(t.Context(), name, ""); shown(err) != want {
			t.Errorf("without runs: %q", shown(err))
		}
	}
	file := filepath.Join(t.TempDir(), "run.zip")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := u.OpenRun(t.Context(), file, ""); !strings.HasPrefix(shown(err), "failed | cannot open run ") {
		t.Errorf("of a file, without runs: %q", shown(err))
	}
	if err := errors.Join(os.MkdirAll(u.dir, 0o700), os.WriteFile(filepath.Join(u.dir, "jobs"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := u.OpenRun(t.Context(), "", ""); err == nil || !strings.HasPrefix(err.Error(), "cannot list jobs: ") {
		t.Errorf("where runs cannot be listed: %v", err)
	}
	u.serve(t, fakeEngine{runs: u.runs("web", "db")})
	if _, err := u.OpenRun(t.Context(), "", ""); shown(err) != "usage | several jobs are running: name one | running jobs: db, web" {
		t.Errorf("of several jobs: %q", shown(err))
	}
	if r, err := u.OpenRun(t.Context(), "db", ""); err != nil || r.Dir != u.runs("db")["db"] || !slices.Equal(r.Engine.Only, []string{"db"}) {
		t.Errorf("of one of several jobs: %v, %v", r, err)
	}
}

func TestNamesRun(t *testing.T) {
	t.Parallel()
	u := threeRuns(t)
	for name, want := range map[string]bool{
		"": false, "web": false, "none": false, "web/bbbb": true, "bbbb": true, "2026": true, u.dir: true,
	} {
		if got := u.NamesRun(t.Context(), name, ""); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestIsPath(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"web": false, "web/aaaa": false, ".x": false, "run.zip": true, "/run": true, "./run": true, "../run": true,
	} {
		if got := IsPath(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestOpenRunFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none := filepath.Join(dir, "none.zip")
	if _, err := OpenRunFile(none); shown(err) != "failed | cannot open a run: stat "+none+": no such file or directory | see: taskrun runs" {
		t.Errorf("one that is not there: %q", shown(err))
	}
	file := filepath.Join(dir, "file.zip")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRunFile(file); !strings.HasPrefix(shown(err), "failed | cannot open run ") || !strings.HasSuffix(shown(err), " | ") {
		t.Errorf("another file: %q", shown(err))
	}
	if os.Geteuid() == 0 {
		return
	}
	if err := os.Chmod(file, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRunFile(file); !strings.HasSuffix(shown(err), "| it belongs to another user, who can hand it over with: taskrun export RUN FILE") {
		t.Errorf("one of another user: %q", shown(err))
	}
}

// Damage in the events of a run is reported after the last requested event.
func TestEventsOf(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	dir := u.keep(t, "web", "20260101T000000.000Z-aaaa", "app", true)
	path := filepath.Join(dir, history.File)
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, slices.Concat([]byte("damaged\n"), text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, err := range u.EventsOf(record.At(dir, "web")) {
		if err != nil {
			t.Error(err)
		}
		count++
		if u.stderr() != "" {
			t.Errorf("warned %q too early", u.stderr())
		}
	}
	if count != 3 || !strings.HasPrefix(u.stderr(), "warning: run web/20260101T000000.000Z-aaaa: ") || strings.Count(u.stderr(), "\n") != 1 {
		t.Errorf("%d events, warned %q", count, u.stderr())
	}
	for range u.EventsOf(record.At(dir, "web")) {
		break
	}
	if strings.Count(u.stderr(), "\n") != 1 {
		t.Errorf("warned again: %q", u.stderr())
	}
}

func TestDataDir(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{"": u.dir, "/d": "/d", "d": filepath.Join(here, "d")} {
		if got, err := u.DataDir(given); got != want || err != nil {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
}

func TestWarningOfSockets(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	if got := u.Warning(); got != "" {
		t.Errorf("warned %q", got)
	}
	dir := filepath.Dir(u.sockets)
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // it has to be refused
		t.Fatal(err)
	}
	u.Finder = NewFinder(u.Console)
	if other, err := u.Sockets(); err != nil || other == u.sockets || !strings.HasPrefix(u.Warning(), "XDG_RUNTIME_DIR is not used: ") {
		t.Errorf("%q, %v, warned %q", other, err, u.Warning())
	}
}
