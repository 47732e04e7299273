package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/report/recording"
)

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFolderOfJobs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"b.nomad.hcl", "a.nomad.hcl", "a.v2.nomad.hcl", "taskrun.hcl"} {
		put(t, filepath.Join(dir, name), "@R@/x")
	}
	put(t, filepath.Join(dir, "actions.json"), `{"actions": {"a": [["cli job status a", 1.5], ["stop", 2]]}}`)
	put(t, filepath.Join(dir, "declared.json"), `[{"name": "a|b", "path": "allocs/.*/stdout", "why": "because"}]`)
	c, err := load(dir, regexp.MustCompile(""))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.jobs, []string{"a", "b"}) {
		t.Errorf("jobs %v", c.jobs)
	}
	if diff := cmp.Diff([]action{{"cli job status a", 1.5}, {"stop", 2}}, c.actions["a"]); diff != "" {
		t.Error(diff)
	}
	if c.why("a", "allocs/x/stdout") != "because" || c.why("ab", "allocs/x/stdout") != "" || c.why("a", "allocs/x/stdout/y") != "" {
		t.Error("declared differences do not match as a whole")
	}
	scratch := t.TempDir()
	if err := c.copyTo(scratch); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(scratch, "a.v2.nomad.hcl")); err != nil || string(text) != scratch+"/x" {
		t.Errorf("copied %q, %v", text, err)
	}
	if _, err := load(dir, regexp.MustCompile("nothing")); err == nil {
		t.Error("a folder without a job is no error")
	}
	put(t, filepath.Join(dir, "declared.json"), `[{"name": "(", "path": "x"}]`)
	if _, err := load(dir, regexp.MustCompile("")); err == nil {
		t.Error("a broken pattern is no error")
	}
}

func TestReportOfUndeclaredDifferences(t *testing.T) {
	t.Parallel()
	c := &cases{declared: []declared{{Name: "two", Path: "x", Why: "on purpose"}}}
	one, two := recording.Difference{Path: "x", Nomad: "1", Taskrun: "2"}, recording.Difference{Path: "y", Nomad: "a\nb", Taskrun: "a\nc"}
	for _, test := range []struct {
		list      []recording.Difference
		different bool
		want      string
	}{
		{nil, false, "OK   two\n1 of 1 jobs agree\n"},
		{[]recording.Difference{one}, false, "OK   two, but for declared differences\n1 of 1 jobs agree\n"},
		{
			[]recording.Difference{one, two},
			true,
			"DIFF two\n  y:\n      both     a\n    ! nomad    b\n    ! taskrun  c\n0 of 1 jobs agree\n",
		},
	} {
		var b strings.Builder
		if got := c.report(&b, []result{{name: "two", list: test.list}}); got != test.different || b.String() != test.want {
			t.Errorf("%v: %v %q, want %v %q", test.list, got, b.String(), test.different, test.want)
		}
	}
	var b strings.Builder
	if !c.report(&b, []result{{name: "two", err: os.ErrNotExist}}) {
		t.Error("a job that could not be compared counts as one that agrees")
	}
}

func TestCommandsAreSplitAsRecorded(t *testing.T) {
	t.Parallel()
	words, stdin := split(`alloc exec $ALLOC sh -c "echo $X; pwd" <<< 12 3`)
	if !slices.Equal(words, []string{"alloc", "exec", "$ALLOC", "sh", "-c", "echo $X; pwd"}) || stdin != "12 3" {
		t.Errorf("%q, %q", words, stdin)
	}
}

// agent responds like an agent on which the job "j" ends when it is stopped.
type agent struct {
	mu      sync.Mutex
	index   uint64
	stopped bool
	purged  bool
}

func (a *agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if wait, err := time.ParseDuration(r.URL.Query().Get("wait")); err == nil && r.URL.Query().Get("index") != "" {
		<-time.After(wait) // nothing happens meanwhile
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	status, task := "running", "running"
	if a.stopped {
		status, task = "dead", "dead"
	}
	state := &api.TaskState{State: task, Events: []*api.TaskEvent{{Type: "Started", DisplayMessage: "Task started by client"}}}
	alloc := &api.AllocationListStub{
		ID: "1", Name: "j.g[0]", ClientStatus: map[bool]string{false: "running", true: "complete"}[a.stopped],
		DesiredStatus: "run", TaskStates: map[string]*api.TaskState{"t": state},
	}
	w.Header().Set("X-Nomad-Index", fmt.Sprint(a.index))
	var answer any
	switch {
	case r.Method == http.MethodDelete:
		a.index++
		a.stopped, a.purged = true, a.purged || r.URL.Query().Get("purge") == "true"
		answer = api.JobDeregisterResponse{}
	case r.URL.Path == "/v1/jobs":
		answer = []*api.JobListStub{}
	case r.URL.Path == "/v1/job/j":
		answer = &api.Job{ID: new("j"), Status: &status}
	case r.URL.Path == "/v1/job/j/allocations":
		answer = []*api.AllocationListStub{alloc}
	case r.URL.Path == "/v1/allocation/1":
		answer = &api.Allocation{ID: "1", PreviousAllocation: "0"}
	case strings.HasPrefix(r.URL.Path, "/v1/client/fs/cat/") && strings.HasSuffix(r.URL.Query().Get("path"), "stdout.0"):
		fmt.Fprint(w, "hello\n")
		return
	default:
		http.NotFound(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// TestPlay runs a job on an agent, with an action, and one that it refuses.
func TestPlay(t *testing.T) {
	t.Parallel()
	fake := &agent{index: 7}
	server := httptest.NewServer(fake)
	defer server.Close()
	s, err := newSide(server.URL, "nomad")
	if err != nil {
		t.Fatal(err)
	}
	s.register = func(_ context.Context, _ *side, _, name string) string { return "registered " + name }
	dir := t.TempDir()
	put(t, filepath.Join(dir, "j.nomad.hcl"), `job "j" {}`)
	put(t, filepath.Join(dir, "unknown.nomad.hcl"), `job "unknown" {}`)
	got, err := s.play(t.Context(), "j", dir, []action{{"api /v1/job/j", 0.01}, {"stop", 0.01}}, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	got.Commands[0].Stdout = strings.Join(strings.Fields(got.Commands[0].Stdout), " ")
	if !strings.Contains(got.Commands[0].Stdout, `"Status": "running"`) || got.Commands[0].Line != "api /v1/job/j" {
		t.Errorf("the answer of the API: %+v", got.Commands[0])
	}
	want := recording.Recording{
		Registered: "registered j", JobStatus: "dead", Commands: got.Commands,
		Allocs: []recording.Alloc{{
			Name: "j.g[0]", Status: "complete", Desired: new("run"), Version: new(uint64(0)), Previous: true,
			Tasks: map[string]recording.Task{"t": {
				State: "dead", Events: []recording.Event{{Type: "Started", Message: "Task started by client"}}, Stdout: "hello\n",
			}},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !fake.purged {
		t.Error("the job is left on the agent")
	}
	if refused, err := s.play(t.Context(), "unknown", dir, nil, time.Second); err != nil || refused.Registered != "registered unknown" || refused.Allocs != nil {
		t.Errorf("a job that is refused: %+v, %v", refused, err)
	}
}
