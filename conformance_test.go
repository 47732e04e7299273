package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd"
)

// asTaskrun makes the test binary behave as the program.
const asTaskrun = "TASKRUN_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asTaskrun) != "" {
		os.Exit(cmd.Main())
	}
	os.Exit(m.Run())
}

// recorded is what a real Nomad did with a job.
type recorded struct {
	Allocs []alloc `json:"allocs"`
}

type alloc struct {
	Name        string          `json:"name"`
	Status      string          `json:"client_status"`
	Description string          `json:"client_description"`
	Previous    bool            `json:"previous"`
	Tasks       map[string]task `json:"tasks"`
	Trace       *string         `json:"trace"`
}

type task struct {
	State    string      `json:"state"`
	Failed   bool        `json:"failed"`
	Restarts int         `json:"restarts"`
	Events   []taskEvent `json:"events"`
	Stdout   string      `json:"stdout"`
	Stderr   string      `json:"stderr"`
}

type taskEvent struct {
	Type    string            `json:"type"`
	Message string            `json:"message"`
	Details map[string]string `json:"details"`
}

// TestRunsAsNomadDoes runs each recorded job and compares what happened:
// states, events with messages and details, statuses, output.
func TestRunsAsNomadDoes(t *testing.T) {
	t.Parallel()
	jobs, err := filepath.Glob("testdata/runs/*.nomad.hcl")
	if err != nil || len(jobs) == 0 {
		t.Fatalf("no recorded jobs found: %v", err)
	}
	actions := readJSON[map[string][][2]any](t, "testdata/runs/actions.json")
	for _, job := range jobs {
		name := strings.TrimSuffix(filepath.Base(job), ".nomad.hcl")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("python3"); err != nil && name == "service-check" {
				t.Skip("the job of this recording needs python3")
			}
			want := readJSON[recorded](t, filepath.Join("testdata/runs/expected", name+".json"))
			var stopAfter time.Duration
			for _, a := range actions[name] {
				stopAfter += time.Duration(a[1].(float64) * float64(time.Second))
			}
			compare(t, name, want.Allocs, runJob(t, job, stopAfter))
		})
	}
}

func readJSON[T any](t *testing.T, path string) (v T) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// line is one object of --output json, as far as the comparison needs it.
type line struct {
	Type     string            `json:"type"`
	DataDir  string            `json:"data_dir"`
	Alloc    string            `json:"alloc"`
	AllocID  string            `json:"alloc_id"`
	Task     string            `json:"task"`
	Event    string            `json:"event"`
	Message  string            `json:"message"`
	Details  map[string]string `json:"details"`
	State    string            `json:"state"`
	Failed   bool              `json:"failed"`
	Restarts int               `json:"restarts"`
	Status   string            `json:"status"`
	Desc     string            `json:"description"`
	Stream   string            `json:"stream"`
	Line     string            `json:"line"`
}

// runJob runs a job with --output json, interrupts it after a while when
// stopAfter is set, and returns its allocations in the order of their begin.
func runJob(t *testing.T, job string, stopAfter time.Duration) []alloc {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dataDir := t.TempDir()
	c := exec.CommandContext(t.Context(), self, "up", "--output", "json", "--data-dir", dataDir, job)
	sockets, err := os.MkdirTemp("", "tr") //nolint:usetesting // a socket needs a short path
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(sockets) }()
	c.Env = append(os.Environ(), asTaskrun+"=1", "XDG_RUNTIME_DIR="+sockets)
	var stderr strings.Builder
	c.Stderr = &stderr
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if stopAfter > 0 {
		timer := time.AfterFunc(stopAfter, func() { _ = c.Process.Signal(syscall.SIGINT) })
		defer timer.Stop()
	}
	order, allocs := fold(t, bufio.NewScanner(stdout))
	if err := c.Wait(); err != nil && c.ProcessState.ExitCode() != 1 && c.ProcessState.ExitCode() != 130 {
		t.Errorf("%v\n%s", err, stderr.String())
	}
	list := make([]alloc, 0, len(order))
	for _, id := range order {
		a := allocs[id]
		traces, _ := filepath.Glob(filepath.Join(dataDir, "jobs/*/runs/*/alloc", id, "alloc/data/trace"))
		if len(traces) == 1 {
			text, err := os.ReadFile(traces[0])
			if err != nil {
				t.Fatal(err)
			}
			trace := string(text)
			a.Trace = &trace
		}
		list = append(list, *a)
	}
	return list
}

// fold reads the stream of objects into what it says of each allocation.
func fold(t *testing.T, lines *bufio.Scanner) (order []string, allocs map[string]*alloc) {
	t.Helper()
	lines.Buffer(nil, 1<<20)
	allocs = map[string]*alloc{}
	for lines.Scan() {
		var of struct {
			AllocID string `json:"alloc_id"`
		}
		if err := json.Unmarshal(lines.Bytes(), &of); err != nil {
			t.Fatalf("not JSON: %q: %v", lines.Text(), err)
		}
		if of.AllocID == "" {
			continue // not of an allocation
		}
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		if l.Type == "service" || l.Type == "check" {
			continue // Nomad tells of them elsewhere
		}
		a := allocs[l.AllocID]
		if a == nil {
			a = &alloc{Name: l.Alloc, Tasks: map[string]task{}}
			for _, earlier := range order {
				a.Previous = a.Previous || allocs[earlier].Name == l.Alloc
			}
			allocs[l.AllocID] = a
			order = append(order, l.AllocID)
		}
		tk := a.Tasks[l.Task]
		switch l.Type {
		case "alloc_status":
			a.Status, a.Description = l.Status, l.Desc
			continue
		case "task_state":
			tk.State, tk.Failed, tk.Restarts = l.State, l.Failed, l.Restarts
		case "task_event":
			tk.Events = append(tk.Events, taskEvent{l.Event, l.Message, l.Details})
		case "log":
			if l.Stream == "stderr" {
				tk.Stderr += l.Line + "\n"
			} else {
				tk.Stdout += l.Line + "\n"
			}
		}
		a.Tasks[l.Task] = tk
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return order, allocs
}

// ring is how many events Nomad keeps of a task.
const ring = 10

func compare(t *testing.T, name string, want, got []alloc) {
	t.Helper()
	slices.SortStableFunc(want, func(a, b alloc) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(got, func(a, b alloc) int { return strings.Compare(a.Name, b.Name) })
	for _, list := range [][]alloc{want, got} {
		for i := range list {
			normalise(&list[i])
		}
	}
	if name == "restart-delay-mode" {
		comparePattern(t, want, got)
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("not what Nomad did (-nomad +taskrun):\n%s", diff)
	}
}

// comparePattern compares a task whose number of restarts depends on the
// jitter of its delays: the same kinds of events must follow each other.
func comparePattern(t *testing.T, want, got []alloc) {
	t.Helper()
	follows := func(allocs []alloc) []string {
		var pairs []string
		for _, a := range allocs {
			for _, tk := range a.Tasks {
				for i := 1; i < len(tk.Events); i++ {
					pairs = append(pairs, fmt.Sprintf("%s %q → %s %q", tk.Events[i-1].Type, tk.Events[i-1].Message,
						tk.Events[i].Type, tk.Events[i].Message))
				}
			}
		}
		slices.Sort(pairs)
		return slices.Compact(pairs)
	}
	if diff := cmp.Diff(follows(want), follows(got)); diff != "" {
		t.Errorf("not what Nomad did (-nomad +taskrun):\n%s", diff)
	}
}

var (
	delay     = regexp.MustCompile(`restarting in [0-9.a-zµ]+`)
	paths     = regexp.MustCompile(`(/[^\s"]*)?/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/`)
	port      = regexp.MustCompile(`\b[0-9]{5}\b`)
	request   = regexp.MustCompile(`(?m)^.*\[\d+/\w+/\d+ [\d:]+\] "GET /health.*\n?`) // of a check
	launching = "failed to launch command with executor: "
)

// normalise takes out what may differ: random delays, directories, the wording
// of Nomad's own inner calls, and whether an output ends its last line.
func normalise(a *alloc) {
	if a.Trace != nil && strings.HasSuffix(*a.Trace, "no such file or directory") {
		a.Trace = nil
	}
	if a.Trace != nil {
		// A poststart task begins when the main task runs, not when that has
		// come to write its first line.
		trace := strings.Replace(*a.Trace, "post start\nmain start\n", "main start\npost start\n", 1)
		a.Trace = &trace
	}
	for name, tk := range a.Tasks {
		if over := len(tk.Events) - ring; over > 0 {
			tk.Events = tk.Events[over:]
		}
		for i := range tk.Events {
			e := &tk.Events[i]
			e.Message = delay.ReplaceAllString(e.Message, "restarting in DELAY")
			if _, ok := e.Details["start_delay"]; ok {
				e.Details["start_delay"] = "DELAY"
			}
			if e.Type == "Driver Failure" && strings.HasPrefix(e.Message, launching) {
				e.Message, e.Details = launching, nil
			}
			if len(e.Details) == 0 {
				e.Details = nil
			}
		}
		tk.Stdout, tk.Stderr = normaliseOutput(tk.Stdout), normaliseOutput(tk.Stderr)
		a.Tasks[name] = tk
	}
}

func normaliseOutput(s string) string {
	if strings.HasPrefix(s, "<HTTP Error 404") { // Nomad had no log file
		return ""
	}
	s = request.ReplaceAllString(s, "") // as many as there was time for
	s = paths.ReplaceAllString(s, "/ALLOC/")
	return port.ReplaceAllString(strings.TrimSuffix(s, "\n"), "PORT")
}
