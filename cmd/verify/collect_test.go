package verify

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/report/compare"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// agent is an agent in memory that responds from a table of objects by path, which
// may change after waitTime; it knows no other paths. A string is a response that
// is not JSON.
type agent map[string]any

const waitTime = 10 * time.Second

func (a agent) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	answer, ok := a[r.URL.Path]
	if at := r.URL.Query().Get("path"); at != "" {
		answer, ok = a[path.Base(path.Dir(r.URL.Path))+" "+at]
	}
	w.Header().Set("X-Nomad-Index", "7")
	if r.URL.Query().Get("index") == "7" { // it changes when the request has waited
		select {
		case <-time.After(waitTime):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		if later, ok := a["later "+r.URL.Path]; ok {
			answer = later
		}
	}
	if now, changes := answer.(func() any); changes {
		answer = now()
	}
	text, raw := answer.(string)
	switch {
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	case raw:
		_, _ = w.WriteString(text)
	default:
		_ = json.NewEncoder(w).Encode(answer)
	}
	return w.Result(), nil
}

// collector returns a collector of a job "j", whose tasks are "t" of raw_exec and
// "m" of the mock driver.
func (a agent) collector(t *testing.T) *collector {
	t.Helper()
	c, err := api.NewClient(&api.Config{Address: "http://agent", HttpClient: &http.Client{Transport: a}})
	if err != nil {
		t.Fatal(err)
	}
	job := &api.Job{ID: new("j"), Name: new("j"), Namespace: new("team"), TaskGroups: []*api.TaskGroup{{
		Name: new("g"), Tasks: []*api.Task{{Name: "t", Driver: "raw_exec"}, {Name: "m", Driver: mock}},
	}}}
	return &collector{
		Side:    Side{Server: &client.Server{API: c}, Job: job, Hide: NewHider([]string{"hunter2"})},
		builder: compare.NewBuilder(), allocs: map[string]*seen{},
	}
}

var begin = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

const allocID = "0f5dd4b0-0000-0000-0000-000000000001"

// withFile adds a file to those that the agent can read.
func (a agent) withFile(at, text string) { a["stat "+at], a["cat "+at] = api.AllocFileInfo{}, text }

func file(name string, size int64) *api.AllocFileInfo {
	return &api.AllocFileInfo{Name: name, Size: size, FileMode: "-rw-r--r--"}
}

func dir(name string) *api.AllocFileInfo {
	return &api.AllocFileInfo{Name: name, IsDir: true, FileMode: "drwxr-xr-x"}
}

// Files are compared by mode and text, or size, unless they are secret; secrets,
// times and the allocation's own ID do not count.
func TestFiles(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxFile)
	a := agent{
		"/v1/allocation/" + allocID: &api.Allocation{ID: allocID, AllocatedResources: &api.AllocatedResources{
			Shared: api.AllocatedSharedResources{Ports: []api.PortMapping{{Value: 23456}}},
		}},
		"ls alloc":      []*api.AllocFileInfo{dir("logs"), dir("data")},
		"ls alloc/logs": []*api.AllocFileInfo{file("t.stdout.0", 1)},
		"ls alloc/data": []*api.AllocFileInfo{},
		"ls t":          []*api.AllocFileInfo{dir("secrets"), dir("private"), dir("local"), {Name: "link", FileMode: "Lrwxrwxrwx", Size: 1}},
		"ls t/secrets":  []*api.AllocFileInfo{file("key", 1)},
		"ls t/local": []*api.AllocFileInfo{
			file("text", 9), file("binary", 2), file("invalid", 2), file("full", maxFile), file("long", maxFile+1), file("gone", 3), dir("secrets"),
		},
		"ls t/local/secrets": []*api.AllocFileInfo{},
	}
	a.withFile("alloc/logs/t.stdout.0", "hunter2\n127.0.0.1 [14/Mar/2026:12:00:00 +0000] "+allocID+":23456\n")
	a.withFile("alloc/logs/t.stderr.0", long+"more")
	a.withFile("t/local/text", "plain\n")
	a.withFile("t/local/binary", "a\x00")
	a.withFile("t/local/invalid", "a\xff")
	a.withFile("t/local/full", long)
	a.withFile("t/local/long", long+"x")
	task := &compare.Task{Values: map[compare.Key]string{}}
	got := &compare.Alloc{Values: map[compare.Key]string{}, Tasks: map[string]*compare.Task{"t": task}}
	a.collector(t).files(t.Context(), allocID, got)
	of := func(name string) compare.Key { return compare.Key{Kind: compare.File, Name: name} }
	const mode, folder = "-rw-r--r--", "drwxr-xr-x"
	want := map[compare.Key]string{
		of("alloc/data"): folder, of("t/local"): folder, of("t/local/secrets"): folder, of("t/link"): "Lrwxrwxrwx",
		of("t/local/text"): mode + "\nplain", of("t/local/binary"): mode + ", 2 bytes", of("t/local/invalid"): mode + ", 2 bytes",
		of("t/local/full"): mode + "\n" + long, of("t/local/long"): mode + ", 65537 bytes", of("t/local/gone"): mode + ", 3 bytes",
	}
	if diff := cmp.Diff(want, got.Values); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	out := task.Values[compare.Key{Kind: compare.Output, Name: "stdout"}]
	if !strings.HasPrefix(out, "(hidden)\n127.0.0.1 [TIME] ") || strings.Contains(out, allocID) || strings.Contains(out, "23456") || strings.HasSuffix(out, "\n") {
		t.Errorf("stdout is %q", out)
	}
	if err := task.Values[compare.Key{Kind: compare.Output, Name: "stderr"}]; err != long {
		t.Errorf("%d bytes of stderr", len(err))
	}
}

// The files of an allocation that the agent no longer knows are not compared.
func TestFilesOfAnUnknownAllocation(t *testing.T) {
	t.Parallel()
	got := &compare.Alloc{Values: map[compare.Key]string{}}
	agent{"ls alloc": []*api.AllocFileInfo{dir("data")}}.collector(t).files(t.Context(), allocID, got)
	if len(got.Values) > 0 {
		t.Errorf("%v", got.Values)
	}
}

// The number and the depth of the files have limits.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	a := agent{"/v1/allocation/" + allocID: &api.Allocation{ID: allocID}}
	at := "alloc"
	for depth := range maxDepth + 3 {
		a["ls "+at] = []*api.AllocFileInfo{dir(strconv.Itoa(depth))}
		at += "/" + strconv.Itoa(depth)
	}
	deep := &compare.Alloc{Values: map[compare.Key]string{}}
	a.collector(t).files(t.Context(), allocID, deep)
	if len(deep.Values) != maxDepth {
		t.Errorf("%d folders in each other, want %d", len(deep.Values), maxDepth)
	}
	var many []*api.AllocFileInfo
	for i := range maxFiles + 1 {
		many = append(many, &api.AllocFileInfo{Name: strconv.Itoa(i + 1000), FileMode: "Lrwxrwxrwx"})
	}
	for n, want := range map[int]int{maxFiles - 1: maxFiles - 1, maxFiles: maxFiles, maxFiles + 1: maxFiles} {
		a["ls alloc"] = many[:n]
		flat := &compare.Alloc{Values: map[compare.Key]string{}}
		a.collector(t).files(t.Context(), allocID, flat)
		if len(flat.Values) != want {
			t.Errorf("%d of %d files, want %d", len(flat.Values), n, want)
		}
	}
}

// The variables of an environment are compared without those of a side, and without
// secrets; a value may have several lines if NUL separates them.
func TestVariables(t *testing.T) {
	t.Parallel()
	c := agent{}.collector(t)
	for _, tt := range []struct {
		text string
		want map[string]string
	}{
		{"A=1\x00B=2\n3\x00_=/usr/bin/env\x00TASKRUN_EXEC_ID=x\x00" + socketDir + "=/s\x00", map[string]string{"A": "1", "B": "2 3"}},
		{"A=1\nno variable\nB=a=b\nPORT=23456\n", map[string]string{"A": "1", "B": "a=b", "PORT": "own"}},
		{"NOMAD_TOKEN=1\nNOMAD_TOKEN_x=2\nNOMAD_TOKENS=3\nPW=hunter2\n", map[string]string{"NOMAD_TOKEN": hidden, "NOMAD_TOKEN_x": hidden, "NOMAD_TOKENS": "3", "PW": hidden}},
	} {
		want := map[compare.Key]string{}
		for name, value := range tt.want {
			want[compare.Key{Kind: compare.Variable, Name: name}] = value
		}
		if diff := cmp.Diff(want, c.variables(strings.NewReplacer("23456", "own"), tt.text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

// The kept part of an output is limited, and the writer does not notice.
func TestLimited(t *testing.T) {
	t.Parallel()
	var l limited
	for _, size := range []int{maxFile - 1, 2, 3} {
		if n, err := l.Write(make([]byte, size)); n != size || err != nil {
			t.Errorf("%d of %d bytes, error %v", n, size, err)
		}
	}
	if l.Len() != maxFile {
		t.Errorf("%d bytes are kept", l.Len())
	}
}

// The environment is asked for once, of running tasks that are processes.
func TestWhoseEnvironmentIsRead(t *testing.T) {
	t.Parallel()
	c := agent{}.collector(t)
	alloc := &event.Alloc{Job: "j", Group: "g", Name: "j.g[0]", ID: "1"}
	see := func(a *event.Alloc, task string, b event.Body) {
		c.see(t.Context(), event.Event{Alloc: a, Task: task, Body: b})
	}
	see(nil, "", event.Version{Job: "j"})
	see(alloc, "t", event.TaskState{State: "pending"})
	if first := c.allocs["1"]; len(c.allocs) != 1 || first.late || first.asked["t"] {
		t.Fatalf("allocations %+v", c.allocs)
	}
	see(alloc, "t", event.TaskState{State: "running"})
	see(alloc, "m", event.TaskState{State: "running"})
	c.stopped = true
	see(&event.Alloc{Job: "j", Group: "g", Name: "j.g[0]", ID: "2"}, "t", event.TaskState{State: "dead"})
	c.reading.Wait()
	_, read := c.allocs["1"].env["t"]
	if a := c.allocs["1"]; a.late || !a.asked["t"] || a.asked["m"] || !read || !c.allocs["2"].late || c.allocs["2"].asked["t"] {
		t.Errorf("%+v, %+v", a, c.allocs["2"])
	}
	if c.hasProcess("g", "m") || !c.hasProcess("g", "t") || !c.hasProcess("other", "m") || !c.hasProcess("g", "other") {
		t.Error("only tasks of the mock driver have no process")
	}
}

// Missing events are added at the end, but not those of allocations that were
// placed while the job was being stopped.
func TestFinish(t *testing.T) {
	t.Parallel()
	c := agent{
		"/v1/allocation/1":               &api.Allocation{ID: "1"},
		"ls alloc":                       []*api.AllocFileInfo{dir("data")},
		"/v1/client/allocation/1/checks": api.AllocCheckStatuses{"x": {Service: "web", Check: "alive", Status: "success"}},
	}.collector(t)
	for i, id := range []string{"1", "2"} {
		a := &event.Alloc{Job: "j", Group: "g", Name: "j.g[" + strconv.Itoa(i) + "]", ID: id}
		for n, b := range []event.Body{
			event.TaskEvent{TaskEvent: &api.TaskEvent{Type: api.TaskStarted}}, event.TaskState{State: "running"},
		} {
			for _, task := range []string{"m", "t"} {
				c.see(t.Context(), event.Event{Time: begin.Add(time.Duration(n+1) * time.Second), Alloc: a, Task: task, Body: b})
			}
		}
		c.stopped = true
	}
	c.reading.Wait()
	c.checks(t.Context())
	variable := compare.Key{Kind: compare.Variable, Name: "A"}
	c.allocs["1"].env["m"] = map[compare.Key]string{variable: "1"}
	v := verdict.New(verdict.Policy{}, []*api.Job{c.Job})
	v.Cause.Text = "why"
	got := c.finish(t.Context(), v)
	if len(got.Run.Allocs) != 1 || got.Cause != "why" || got.Run.Ring != ring ||
		cmp.Diff(got.Unread, []string{"g/t"}) != "" && cmp.Diff(got.Unread, []string{"g[0]/t"}) != "" {
		t.Fatalf("%+v", got)
	}
	if diff := cmp.Diff([]compare.Kind{compare.Command, compare.Template, compare.Service}, got.Run.Lacks); diff != "" {
		t.Errorf("it lacks (-want +got):\n%s", diff)
	}
	alloc := got.Run.Allocs[0]
	if diff := cmp.Diff(map[compare.Key]string{
		{Kind: compare.Check, Name: "web/alive"}: "success", {Kind: compare.File, Name: "alloc/data"}: "drwxr-xr-x",
	}, alloc.Values); diff != "" {
		t.Errorf("of the allocation (-want +got):\n%s", diff)
	}
	if m := alloc.Tasks["m"]; m.Values[variable] != "1" || m.Started != 0 { // when its event was, not its state
		t.Errorf("of its task: %+v", m)
	}
}

// An agent that runs nothing else will not have room later.
func TestUnplaced(t *testing.T) {
	t.Parallel()
	failed := map[string]*api.AllocationMetric{"g": {NodesEvaluated: 1, NodesExhausted: 1, DimensionExhausted: map[string]int{"memory": 1}}}
	known := agent{"/v1/job/j/evaluations": []*api.Evaluation{{FailedTGAllocs: failed}, {FailedTGAllocs: failed}, {}}}
	for _, tt := range []struct {
		agent agent
		alone bool
		want  int
	}{{known, true, 1}, {known, false, 0}, {agent{}, true, 0}} {
		c := tt.agent.collector(t)
		c.Alone = tt.alone
		if got := c.unplaced(t.Context()); len(got) != tt.want || tt.want > 0 && !strings.Contains(got[0], "memory") {
			t.Errorf("alone: %v: %q, want %d lines", tt.alone, got, tt.want)
		}
	}
	if got := (&UnplacedError{Lines: []string{"a", "b"}}).Error(); got != "a\nb" {
		t.Errorf("the error is %q", got)
	}
}

// A job is purged once nothing of it is running, which takes as long as its tasks
// may take.
func TestPurge(t *testing.T) {
	t.Parallel()
	const job, allocs, later = "/v1/job/j", "/v1/job/j/allocations", "later /v1/job/j/allocations"
	running, ended := []*api.AllocationListStub{{ClientStatus: "complete"}, {ClientStatus: "running"}}, []*api.AllocationListStub{{ClientStatus: "complete"}}
	answer := api.JobDeregisterResponse{}
	for _, tt := range []struct {
		agent agent
		tasks []*api.Task
		takes time.Duration
		want  string
	}{
		{agent{}, nil, 0, ""},
		{agent{job: answer, allocs: ended}, nil, 0, ""},
		{agent{job: answer, allocs: running, later: ended}, nil, waitTime, ""},
		{agent{job: "no JSON", allocs: ended}, nil, 0, "cannot stop job \"j\""},
		{agent{job: answer, allocs: "no JSON"}, nil, 0, "cannot list the allocations of job \"j\""},
		{agent{job: answer, allocs: running}, []*api.Task{{}}, stopTime, `job "j" has not stopped within 30s`},
		{
			agent{job: answer, allocs: running},
			[]*api.Task{{KillTimeout: new(time.Minute), ShutdownDelay: 2 * time.Second}, {KillTimeout: new(time.Second)}},
			stopTime + 62*time.Second, `job "j" has not stopped within 1m32s`,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := tt.agent.collector(t)
			c.Job.TaskGroups[0].Tasks = tt.tasks
			began := time.Now()
			err := Purge(t.Context(), c.Server, c.Job)
			if took := time.Since(began); took != tt.takes || (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v after %v, want %q after %v", err, took, tt.want, tt.takes)
			}
		})
	}
}
