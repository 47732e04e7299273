package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/report/recording"
)

// asTaskrun makes the test binary act as the program, see TestMain.
const asTaskrun = "TASKRUN_TEST_MAIN"

// TestRunsMatchNomad runs each recorded job and compares states, events with
// messages and details, statuses and output.
func TestRunsMatchNomad(t *testing.T) {
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
			want := readJSON[recording.Recording](t, filepath.Join("testdata/runs/expected", name+".json"))
			var stopAfter time.Duration
			for _, a := range actions[name] {
				stopAfter += time.Duration(a[1].(float64) * float64(time.Second))
			}
			replay(t, func() ([]recording.Alloc, []string, bool) {
				got := runJob(t, withFreePort(t, job), stopAfter)
				return got, compare(name, want.Allocs, got), false
			})
		})
	}
}

// withFreePort returns a copy of a job whose static port is free on this machine:
// another program, or the same test of another one, may have that of the recording.
// The port has as many digits, and is neither a dynamic port of jobs nor an ephemeral
// one of the system.
func withFreePort(t *testing.T, job string) string {
	t.Helper()
	const recorded = "static = 18080"
	text, err := os.ReadFile(job)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), recorded) {
		return job
	}
	for range 100 {
		number := 10000 + rand.IntN(10000)
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", number))
		if err != nil {
			continue
		}
		l.Close()
		path := filepath.Join(t.TempDir(), filepath.Base(job))
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), recorded, fmt.Sprint("static = ", number), 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Fatal("no port is free")
	return ""
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

// line is an object of --output json, with the fields that are compared.
type line struct {
	Time     time.Time         `json:"time"`
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

// runJob runs a job with --output json, and returns its allocations in the order of
// their starts. If stopAfter is set it interrupts the job then, or when a check first
// passes, if the job has one: its server takes long to start on a busy machine.
func runJob(t *testing.T, job string, stopAfter time.Duration) []recording.Alloc {
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
	text, err := os.ReadFile(job)
	if err != nil {
		t.Fatal(err)
	}
	checked := strings.Contains(string(text), "check {")
	interrupt := func() { _ = c.Process.Signal(syscall.SIGINT) }
	stop := sync.OnceFunc(func() {
		if checked {
			interrupt()
			return
		}
		time.AfterFunc(stopAfter, interrupt)
	})
	order, allocs := fold(t, bufio.NewScanner(stdout), func(l line) {
		if stopAfter > 0 && (checked && l.Type == "check" && l.Status == "success" || !checked && l.Event == api.TaskStarted) {
			stop()
		}
	})
	if err := c.Wait(); err != nil && c.ProcessState.ExitCode() != 1 && c.ProcessState.ExitCode() != 130 {
		t.Errorf("%v\n%s", err, stderr.String())
	}
	list := make([]recording.Alloc, 0, len(order))
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

// fold converts the stream of objects to allocations. It calls see with each object of
// an allocation.
func fold(t *testing.T, lines *bufio.Scanner, see func(line)) (order []string, allocs map[string]*recording.Alloc) {
	t.Helper()
	lines.Buffer(nil, 1<<20)
	allocs = map[string]*recording.Alloc{}
	created := map[string]time.Time{}
	for lines.Scan() {
		var of struct {
			AllocID string `json:"alloc_id"`
		}
		if err := json.Unmarshal(lines.Bytes(), &of); err != nil {
			t.Fatalf("not JSON: %q: %v", lines.Text(), err)
		}
		if of.AllocID == "" {
			continue // not about an allocation
		}
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		see(l)
		if l.Type == "service" || l.Type == "check" {
			continue // Nomad reports these elsewhere
		}
		a := allocs[l.AllocID]
		if a == nil {
			a = &recording.Alloc{Name: l.Alloc, Tasks: map[string]recording.Task{}}
			for _, earlier := range order {
				a.Previous = a.Previous || allocs[earlier].Name == l.Alloc
			}
			allocs[l.AllocID], created[l.AllocID] = a, l.Time
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
			tk.Events = append(tk.Events, recording.Event{
				At: l.Time.Sub(created[l.AllocID]).Seconds(), Type: l.Event, Message: l.Message, Details: l.Details,
			})
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

// compare returns how allocations differ, as far as --output json describes them.
func compare(name string, want, got []recording.Alloc) (differences []string) {
	if name == "restart-delay-mode" {
		return comparePattern(want, got)
	}
	for i := range want {
		want[i].Desired = nil // not in --output json
	}
	for _, d := range recording.Compare(recording.Recording{Allocs: want}, recording.Recording{Allocs: got}, false) {
		differences = append(differences, d.String())
	}
	return differences
}

// comparePattern compares a task whose number of restarts depends on the jitter
// of its delays: the same events must follow each other. What comes before the stop
// depends on the jitter, too.
func comparePattern(want, got []recording.Alloc) []string {
	follows := func(allocs []recording.Alloc) []string {
		var pairs []string
		for _, a := range allocs {
			for _, tk := range a.Tasks {
				lines := recording.Lines(tk.Events)
				for i := 1; i < len(lines) && !strings.HasPrefix(lines[i], "Killing"); i++ {
					pairs = append(pairs, lines[i-1]+" → "+lines[i])
				}
			}
		}
		slices.Sort(pairs)
		return slices.Compact(pairs)
	}
	if diff := cmp.Diff(follows(want), follows(got)); diff != "" {
		return []string{"(-nomad +taskrun):\n" + diff}
	}
	return nil
}
