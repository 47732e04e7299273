package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	"taskrun/drivers/docker/dockertest"
)

// answerTime limits the wait for a recorded event.
const answerTime = time.Minute

// lateTime limits the wait after something was not as recorded.
const lateTime = 5 * time.Second

// keep is a job that only waits, so that the run, and so the API, outlives the
// tested job.
const keep = `job "keep" {
  type = "batch"
  parameterized {}
  group "g" {
    task "t" {
      driver = "mock_driver"
    }
  }
}
`

// player plays a recorded case on taskrun.
type player struct {
	*testing.T
	name   string
	dir    string // contains the job files and the data of the run
	client *api.Client
	want   recording.Recording
	got    recording.Recording
	slept  *sleeps
	began  time.Time
	late   bool     // something recorded did not happen
	behind bool     // an action came late
	undo   []func() // at the end, the last one first
}

// Cleanup calls undo when the recording was played, which may be long before the
// end of the test.
func (p *player) Cleanup(undo func()) { p.undo = append(p.undo, undo) }

func (p *player) close() {
	for _, undo := range slices.Backward(p.undo) {
		undo()
	}
}

// play runs a job with the actions of its recording and returns what happened, and
// whether an action came late. It takes an action once everything that was recorded
// before it has happened.
func play(t *testing.T, name string, actions [][2]any, want recording.Recording) (got recording.Recording, late bool) {
	t.Helper()
	p := &player{T: t, name: name, dir: t.TempDir(), want: want}
	defer p.close()
	if os.Geteuid() == 0 { // tasks of other users must reach their directories
		if err := errors.Join(os.Chmod(p.dir, 0o711), os.Chmod(filepath.Dir(p.dir), 0o711)); err != nil {
			t.Fatal(err)
		}
	}
	p.start()
	p.warnings()
	at := 0.0
	for _, a := range actions {
		action, after := a[0].(string), a[1].(float64)
		if after < 0 {
			continue // it created what taskrun.hcl provides
		}
		at += after
		p.reach(at)
		p.behind = p.behind || time.Since(p.began).Seconds() > at+startTime.Seconds()
		p.act(action, at)
	}
	p.end()
	return p.got, p.behind
}

// start runs the job, and serves the API.
func (p *player) start() {
	p.Helper()
	if err := os.Chmod(filepath.Dir(p.dir), 0o711); err != nil { // for tasks of other users
		p.Fatal(err)
	}
	for _, file := range []string{p.name + ".nomad.hcl", "taskrun.hcl"} {
		p.write(file, p.read(file))
	}
	p.write("keep.nomad.hcl", keep)
	if err := os.Mkdir(filepath.Join(p.dir, "hv"), 0o755); err != nil {
		p.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		p.Fatal(err)
	}
	sockets, err := os.MkdirTemp("", "tr")
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = os.RemoveAll(sockets) })
	p.slept = newSleeps(p, filepath.Join(p.dir, "bin"))

	c := exec.CommandContext(context.WithoutCancel(p.Context()), self, "up", "--output", "json", "--data-dir", filepath.Join(p.dir, "data"),
		"keep.nomad.hcl", p.name+".nomad.hcl")
	c.Dir = p.dir
	c.Env = append(os.Environ(), asTaskrun+"=1", "TZ=UTC", "XDG_RUNTIME_DIR="+sockets,
		"PATH="+filepath.Join(p.dir, "bin")+":"+os.Getenv("PATH"))
	var stderr strings.Builder
	c.Stderr = &stderr
	stdout, err := c.StdoutPipe()
	if err != nil {
		p.Fatal(err)
	}
	if err := c.Start(); err != nil {
		p.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	first, err := lines.ReadString('\n')
	if err != nil {
		_ = c.Wait()
		p.Fatalf("%v: %s", err, stderr.String())
	}
	p.began = time.Now()
	var drained sync.WaitGroup
	drained.Go(func() { _, _ = lines.WriteTo(discard{}) })
	p.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGINT)
		drained.Wait()
		_ = c.Wait() // the exit code is that of the job
	})
	var run struct {
		Socket string `json:"socket"`
	}
	if err := json.Unmarshal([]byte(first), &run); err != nil || run.Socket == "" {
		p.Fatalf("no socket in %q: %v", first, err)
	}
	p.client, err = api.NewClient(&api.Config{Address: "unix://" + run.Socket})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(p.client.Close)
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func (p *player) read(file string) string {
	p.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/faults", file))
	if err != nil {
		p.Fatal(err)
	}
	return strings.NewReplacer("@R@", p.dir, `"busybox:1"`, fmt.Sprintf("%q", dockertest.Image)).Replace(string(text))
}

func (p *player) write(file, text string) {
	p.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, file), []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

// parse parses a job file with the API.
func (p *player) parse(file string) *api.Job {
	p.Helper()
	job, err := p.client.Jobs().ParseHCLOpts(&api.JobsParseRequest{JobHCL: p.read(file), Canonicalize: true})
	if err != nil {
		p.Fatal(err)
	}
	return job
}

// warnings records the warnings when the job is registered.
func (p *player) warnings() {
	p.Helper()
	answer, _, err := p.client.Jobs().Validate(p.parse(p.name+".nomad.hcl"), nil)
	if err != nil {
		p.Fatal(err)
	}
	if answer.Warnings != "" {
		p.got.Registered = "Job Warnings:\n" + answer.Warnings + "\n\n"
	}
	p.got.Registered += "Job registration successful\nEvaluation ID: ALLOC\n"
}

// until repeats a query after each change until the answer is as expected, or
// answerTime has passed; after that it waits less.
func (p *player) until(ask func(*api.QueryOptions) (*api.QueryMeta, bool)) bool {
	p.Helper()
	patience := answerTime
	if p.late {
		patience = lateTime
	}
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	defer cancel()
	q := (&api.QueryOptions{WaitTime: patience}).WithContext(ctx)
	for {
		meta, ok := ask(q)
		if ok {
			return true
		}
		if ctx.Err() != nil {
			p.late = true
			return false
		}
		q.WaitIndex = meta.LastIndex
	}
}

// allocs returns the allocations of the job, sorted by name and age.
func (p *player) allocs(q *api.QueryOptions) ([]*api.AllocationListStub, *api.QueryMeta) {
	p.Helper()
	list, meta, err := p.client.Jobs().Allocations(p.name, true, q)
	if err != nil && (q == nil || q.Context().Err() == nil) {
		p.Fatal(err)
	}
	slices.SortFunc(list, func(a, b *api.AllocationListStub) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return int(a.CreateTime - b.CreateTime)
	})
	return list, meta
}

// reach waits until everything recorded in the first seconds has happened, and
// every shell has set its traps.
func (p *player) reach(seconds float64) {
	p.Helper()
	p.happen(seconds)
	list, _ := p.allocs(nil)
	for _, a := range list {
		for name, state := range a.TaskStates {
			if state.State == "running" && p.loops(name) {
				p.slept.await(p, a.ID+"/"+name)
			}
		}
	}
}

// happen waits until everything recorded in the first seconds has happened.
func (p *player) happen(seconds float64) {
	p.Helper()
	want := p.want.Allocs
	slices.SortStableFunc(want, func(a, b recording.Alloc) int { return strings.Compare(a.Name+".", b.Name+".") })
	missing := ""
	if !p.until(func(q *api.QueryOptions) (*api.QueryMeta, bool) {
		list, meta := p.allocs(q)
		if q.Context().Err() == nil {
			missing = p.missing(list, seconds)
		}
		return meta, missing == ""
	}) {
		p.Logf("what was recorded after %gs does not happen: %s", seconds, missing)
	}
}

// missing describes what was recorded in the first seconds and has not happened
// yet.
func (p *player) missing(list []*api.AllocationListStub, seconds float64) string {
	same := map[string][]*api.AllocationListStub{}
	for _, a := range list {
		same[a.Name] = append(same[a.Name], a)
	}
	for _, want := range p.want.Allocs {
		if want.Created >= seconds {
			continue
		}
		if len(same[want.Name]) == 0 {
			return "no allocation " + want.Name
		}
		got := same[want.Name][0]
		same[want.Name] = same[want.Name][1:]
		for name, task := range want.Tasks {
			wanted := positionAt(task, seconds-want.Created)
			if state := got.TaskStates[name]; state == nil || !positionOf(state).reached(wanted) {
				return fmt.Sprintf("task %s of %s is not at %v: %v", name, got.Name, wanted, state)
			}
		}
	}
	return ""
}

// position is the progress of a task: its restarts, and its events since the
// last one.
type position struct{ restarts, events int }

// reached reports whether a task is where it was in the recording. One that has
// restarted more often, because an action took longer on a busy machine, has to be
// at the same place since then: the next action would interrupt something else.
func (p position) reached(other position) bool {
	return p.restarts > other.restarts && p.events == other.events || p.restarts == other.restarts && p.events >= other.events
}

func positionAt(t recording.Task, seconds float64) position {
	restarts := t.Restarts
	var types []string
	for _, e := range t.Events {
		switch {
		case e.At < seconds:
			types = append(types, e.Type)
		case e.Type == api.TaskRestarting:
			restarts--
		}
	}
	return positionAfter(restarts, types)
}

func positionOf(state *api.TaskState) position {
	var types []string
	for _, e := range state.Events {
		types = append(types, e.Type)
	}
	return positionAfter(int(state.Restarts), types)
}

// positionAfter returns the position of a task after its latest events. Earlier
// events are known from the way a task starts.
func positionAfter(restarts int, types []string) position {
	for i, event := range slices.Backward(types) {
		if event == api.TaskRestarting {
			return position{restarts, len(types) - i - 1}
		}
	}
	start := []string{api.TaskReceived, api.TaskSetup, api.TaskStarted}
	if restarts > 0 {
		start = []string{api.TaskStarted}
	}
	if len(types) == 0 {
		return position{restarts, 0}
	}
	if i := slices.Index(start, types[0]); i >= 0 {
		return position{restarts, i + len(types)}
	}
	return position{restarts, len(start) + len(types)}
}

// loops reports whether the task is a shell that sleeps in a loop, which shows
// that it has set its traps.
func (p *player) loops(task string) bool {
	job, _, err := p.client.Jobs().Info(p.name, nil)
	if err != nil {
		p.Fatal(err)
	}
	for _, g := range job.TaskGroups {
		for _, t := range g.Tasks {
			if t.Name == task && t.Driver == "raw_exec" {
				return strings.Contains(fmt.Sprint(t.Config["args"]), "do sleep 0.1")
			}
		}
	}
	return false
}

// act carries out an action that was recorded at a time.
func (p *player) act(action string, at float64) {
	p.Helper()
	switch what, rest, _ := strings.Cut(action, " "); what {
	case "stop":
		if !p.late && p.over(at) {
			return
		}
		if _, _, err := p.client.Jobs().Deregister(p.name, false, nil); err != nil {
			p.Fatal(err)
		}
	case "deploy":
		p.got.Deployments = append(p.got.Deployments, p.deployments(p.want.Deployments[len(p.got.Deployments)]))
	case "allocs":
		p.got.AllocLists = append(p.got.AllocLists, p.allocList(p.want.AllocLists[len(p.got.AllocLists)]))
	case "cli":
		got, want := p.command(rest), p.want.Commands[len(p.got.Commands)]
		p.got.Commands = append(p.got.Commands, got)
		p.late = p.late || got.Code != want.Code
	default:
		p.Fatalf("unknown action %q", action)
	}
}

// deployed waits for the deployment of the current version, if a successful one
// was recorded.
func (p *player) deployed() {
	job, _, err := p.client.Jobs().Info(p.name, nil)
	if err != nil {
		p.Fatal(err)
	}
	for _, d := range slices.Concat(p.want.Deployments...) {
		if d.Version == *job.Version && d.Status == "successful" {
			p.until(func(q *api.QueryOptions) (*api.QueryMeta, bool) {
				got, meta, err := p.client.Jobs().LatestDeployment(p.name, q)
				return meta, err == nil && got != nil && got.JobVersion == d.Version && got.Status == d.Status
			})
			return
		}
	}
}

// deployments returns the deployments once they are as recorded, or the wait is
// over.
func (p *player) deployments(want []recording.Deployment) (got []recording.Deployment) {
	p.until(func(q *api.QueryOptions) (*api.QueryMeta, bool) {
		list, meta, err := p.client.Jobs().Deployments(p.name, true, q)
		if err != nil {
			return meta, false
		}
		got = nil
		for _, d := range slices.Backward(list) {
			groups := map[string]recording.DeploymentGroup{}
			for name, g := range d.TaskGroups {
				groups[name] = recording.DeploymentGroup{
					Desired: g.DesiredTotal, Canaries: g.DesiredCanaries, Placed: g.PlacedAllocs,
					Healthy: g.HealthyAllocs, Unhealthy: g.UnhealthyAllocs, Promoted: g.Promoted, AutoRevert: g.AutoRevert,
				}
			}
			got = append(got, recording.Deployment{Status: d.Status, Description: d.StatusDescription, Version: d.JobVersion, Groups: groups})
		}
		return meta, cmp.Equal(want, got)
	})
	return got
}

// allocList returns the allocations once they are as recorded, or the wait is
// over.
func (p *player) allocList(want []recording.AllocLine) (got []recording.AllocLine) {
	p.until(func(q *api.QueryOptions) (*api.QueryMeta, bool) {
		list, meta := p.allocs(q)
		if q.Context().Err() != nil {
			return meta, false
		}
		got = nil
		for _, a := range list {
			got = append(got, recording.AllocLine{Name: a.Name, Status: a.ClientStatus, Desired: a.DesiredStatus, Version: a.JobVersion})
		}
		byAll := func(a, b recording.AllocLine) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
		return meta, cmp.Equal(slices.SortedFunc(slices.Values(want), byAll), slices.SortedFunc(slices.Values(got), byAll))
	})
	return got
}

// over reports whether nothing was recorded after a time, because the job had
// ended by itself.
func (p *player) over(seconds float64) bool {
	for _, a := range p.want.Allocs {
		for _, t := range a.Tasks {
			if slices.ContainsFunc(t.Events, func(e recording.Event) bool { return a.Created+e.At >= seconds }) {
				return false
			}
		}
	}
	return true
}

// end waits for the end of the job and records how it ended.
func (p *player) end() {
	p.Helper()
	p.happen(1e9)
	if p.want.JobStatus != "dead" { // the job was not stopped, whatever happened here
		job, _, err := p.client.Jobs().Info(p.name, nil)
		if err != nil {
			p.Fatal(err)
		}
		p.got.JobStatus = *job.Status
	}
	status := ""
	p.until(func(q *api.QueryOptions) (*api.QueryMeta, bool) {
		job, meta, err := p.client.Jobs().Info(p.name, q)
		if err == nil {
			status = *job.Status
		}
		return meta, status == "dead"
	})
	if p.got.JobStatus == "" {
		p.got.JobStatus = status
	}
	list, _ := p.allocs(nil)
	first := int64(0)
	for _, stub := range list {
		if first == 0 || stub.CreateTime < first {
			first = stub.CreateTime
		}
	}
	for _, stub := range list {
		p.got.Allocs = append(p.got.Allocs, p.alloc(stub, first))
	}
}

// alloc describes an ended allocation.
func (p *player) alloc(stub *api.AllocationListStub, first int64) recording.Alloc {
	p.Helper()
	info, _, err := p.client.Allocations().Info(stub.ID, nil)
	if err != nil {
		p.Fatal(err)
	}
	a := recording.Alloc{
		Name: stub.Name, Status: stub.ClientStatus, Description: stub.ClientDescription, Desired: &stub.DesiredStatus,
		Previous: info.PreviousAllocation != "", Version: &stub.JobVersion, Created: time.Duration(stub.CreateTime - first).Seconds(),
		Tasks: map[string]recording.Task{},
	}
	if s := stub.DeploymentStatus; s != nil {
		a.Healthy = s.Healthy
	}
	dirs, err := filepath.Glob(filepath.Join(p.dir, "data/jobs", p.name, "runs/*/alloc", stub.ID))
	if err != nil || len(dirs) != 1 {
		p.Fatalf("%d directories of allocation %s: %v", len(dirs), stub.ID, err)
	}
	a.Files = p.files(dirs[0])
	for name, state := range stub.TaskStates {
		task := recording.Task{State: state.State, Failed: state.Failed, Restarts: int(state.Restarts)}
		for _, e := range state.Events {
			task.Events = append(task.Events, recording.Event{
				At: time.Duration(e.Time - stub.CreateTime).Seconds(), Type: e.Type, Message: e.DisplayMessage, Details: e.Details,
			})
		}
		task.Stdout, task.Stderr = p.output(dirs[0], name+".stdout"), p.output(dirs[0], name+".stderr")
		a.Tasks[name] = task
	}
	return a
}

func (p *player) output(dir, name string) string {
	text, err := os.ReadFile(filepath.Join(dir, "alloc/logs", name+".0"))
	if err != nil {
		return ""
	}
	return string(text)
}

// files lists the files in the directory of an allocation.
func (p *player) files(dir string) (list []recording.File) {
	p.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // secrets are being removed
			return nil
		}
		if err != nil || path == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // likewise
		}
		sys := info.Sys().(*syscall.Stat_t)
		list = append(list, recording.File{
			Path: path, Mode: recording.Mode(info.Mode()), UID: int(sys.Uid), GID: int(sys.Gid), Size: info.Size(),
		})
		return nil
	})
	if err != nil {
		p.Fatal(err)
	}
	return list
}
