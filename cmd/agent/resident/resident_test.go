package resident

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/agent/settings"
	"taskrun/cmd/client"
	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/ui"
	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/drivers/process"
	"taskrun/drivers/process/keeper"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		address, token string
		terminal       bool
		want           string
	}{
		{"", "", false, "socket   /s/x.sock\ndata     /data\nFor Nomad's tools:\n  export NOMAD_ADDR=unix:///s/x.sock\n"},
		{"h:1", "", true, "address  http://h:1\nsocket   /s/x.sock\ndata     /data\nFor Nomad's tools:\n  export NOMAD_ADDR=http://h:1\n"},
		{
			"h:1", "SECRET", true, "address  http://h:1\nsocket   /s/x.sock\ndata     /data\ntoken    /data/agent/token\n" +
				"For Nomad's tools:\n  export NOMAD_ADDR=http://h:1 NOMAD_TOKEN=SECRET\n",
		},
		{
			"h:1", "SECRET", false, "address  http://h:1\nsocket   /s/x.sock\ndata     /data\ntoken    /data/agent/token\n" +
				"For Nomad's tools:\n  export NOMAD_ADDR=http://h:1 NOMAD_TOKEN=$(cat /data/agent/token)\n",
		},
	} {
		streams, _, stderr := ui.Test()
		streams.ErrTerm = tt.terminal
		w := NewWords(&console.Console{Streams: streams}, "/data", "/s/x.sock")
		w.Address, w.Token = tt.address, tt.token
		if w.Write(); stderr.String() != tt.want {
			t.Errorf("%+v: %q", tt, stderr)
		}
	}
}

// The keeper of an agent is known as long as it is running.
func TestWaitingKeeper(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if id, err := WaitingKeeper(dir); id != nil || err != nil {
		t.Errorf("without a file: %v, %v", id, err)
	}
	file := filepath.Join(dir, "agent", agentWaits)
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	self := process.Self()
	gone := self
	gone.Start++
	for _, tt := range []struct {
		id   any
		want *process.ID
	}{{self, &self}, {gone, nil}, {"text", nil}} {
		text, err := json.Marshal(tt.id)
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := WaitingKeeper(dir); err != nil || (got == nil) != (tt.want == nil) || got != nil && *got != self {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o700)); err != nil {
		t.Fatal(err)
	}
	if id, err := WaitingKeeper(dir); id != nil || err == nil || err.Error() != fmt.Sprintf("%q is not a regular file", file) {
		t.Errorf("a directory: %v, %v", id, err)
	}
}

func TestReadLimited(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if _, err := ReadLimited(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	for size, want := range map[int64]string{maxSettings: "", maxSettings + 1: "read " + file + ": the file is too large"} {
		if err := errors.Join(os.WriteFile(file, []byte("text"), 0o600), os.Truncate(file, size)); err != nil {
			t.Fatal(err)
		}
		text, err := ReadLimited(file)
		if want == "" && (err != nil || !bytes.HasPrefix(text, []byte("text")) || int64(len(text)) != size) || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%d bytes: %d bytes, %v", size, len(text), err)
		}
	}
}

// The token of an agent outlives it, and only the user can read it.
func TestToken(t *testing.T) {
	t.Parallel()
	dir := &datadir.Agent{Dir: t.TempDir()}
	first, err := token(dir)
	if err != nil || len(first) < 20 {
		t.Fatalf("%q, %v", first, err)
	}
	if again, err := token(dir); again != first || err != nil {
		t.Errorf("%q, then %q, %v", first, again, err)
	}
	path := dir.Path("token")
	if err := os.WriteFile(path, []byte(first[:5]), 0o644); err != nil { //nolint:gosec // it has to be replaced
		t.Fatal(err)
	}
	next, err := token(dir)
	text, _ := os.ReadFile(path)
	if info, statErr := os.Stat(path); err != nil || next == first || string(text) != next+"\n" || statErr != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("one that was cut off: %q, %v, file %q", next, err, text)
	}
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	if got, err := token(dir); got != "" || err == nil || !strings.HasPrefix(err.Error(), "cannot read the token of the agent: ") {
		t.Errorf("one that cannot be read: %q, %v", got, err)
	}
	dir.Dir = filepath.Join(dir.Dir, "none")
	if got, err := token(dir); got != "" || err == nil || !strings.HasPrefix(err.Error(), "cannot keep the token of the agent: ") {
		t.Errorf("one that cannot be kept: %q, %v", got, err)
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	alloc := &event.Alloc{Name: "web.g[0]", ID: "0123456789"}
	failed := &api.TaskEvent{Type: "Driver Failure", DisplayMessage: "no image", Details: map[string]string{"fails_task": "true"}}
	events := []event.Event{
		{Body: event.Notice{Text: "a notice\nin two lines\n"}},
		{Body: event.Version{Job: "web", Number: 3}},
		{Alloc: alloc, Body: event.AllocStatus{Status: "running"}},
		{Alloc: alloc, Body: event.AllocStatus{Status: "failed", Description: "why"}},
		{Alloc: alloc, Task: "app", Body: event.TaskEvent{TaskEvent: &api.TaskEvent{Type: "Started", DisplayMessage: "it has started"}}},
		{Alloc: alloc, Task: "app", Body: event.TaskEvent{TaskEvent: failed}},
		{Body: event.AllocStatus{Status: "odd"}},
	}
	all := []string{
		"[INFO] a notice\n\tin two lines\n", "[DEBUG] job web: version 3\n", "[INFO] web.g[0] (01234567): running\n",
		"[INFO] web.g[0] (01234567): failed: why\n", "[DEBUG] web.g[0] (01234567)/app: Started: it has started\n",
		"[WARN] web.g[0] (01234567)/app: Driver Failure: no image\n", "[INFO] agent: odd\n",
	}
	for _, level := range LogLevels {
		var out bytes.Buffer
		l := newAgentLog(&out, level)
		want := ""
		for i, e := range events {
			e.Time = time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.FixedZone("", 3600))
			l.event(e)
			if level == levelDebug || level != levelError && strings.HasPrefix(all[i], "[WARN]") || level == LevelInfo && strings.HasPrefix(all[i], "[INFO]") {
				want += "2026-01-02T02:04:05.006Z " + all[i]
			}
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s: %s", level, diff)
		}
		out.Reset()
		l.diagnostics(jobspec.Diagnostics{{Summary: "odd"}})
		l.info("%d", 1)
		if text := out.String(); strings.Contains(text, "[WARN] odd\n") != (level != levelError) || strings.Contains(text, "[INFO] 1\n") != (level == levelDebug || level == LevelInfo) {
			t.Errorf("%s: %q", level, text)
		}
	}
}

// Stubs win over settings, and settings over what this machine is.
func TestAgentNode(t *testing.T) {
	t.Parallel()
	usual := agentNode(settings.Settings{}, stub.None())
	if usual.Name == "" || usual.Datacenter != "dc1" || usual.Region != "global" || usual.Pool != "default" || usual.Class != "" || usual.Meta["connect.log_level"] != "info" {
		t.Errorf("the usual node is %+v", usual)
	}
	set := settings.Settings{Name: "n", Datacenter: "d", Region: "r", Client: settings.Client{
		Class: "c", Pool: "p", Meta: map[string]string{"connect.log_level": "debug", "own": "x", "both": "settings"},
	}}
	stubs := stub.None()
	stubs.Node.Meta = map[string]string{"both": "stub"}
	node := agentNode(set, stubs)
	got := fmt.Sprint(node.Name, node.Datacenter, node.Region, node.Class, node.Pool, " ", node.Meta["connect.log_level"], node.Meta["own"], " ", node.Meta["both"])
	if got != "ndrcp debugx stub" || node.Meta["connect.proxy_concurrency"] != "1" {
		t.Errorf("the node is %s: %+v", got, node)
	}
}

func TestHostVolumes(t *testing.T) {
	t.Parallel()
	stubs := stub.None()
	stubs.HostVolumes = map[string]stub.HostVolume{"a": {Path: "/stub"}, "b": {Path: "/stub", ReadOnly: true}}
	find := hostVolumes(settings.Settings{Client: settings.Client{HostVolumes: map[string]settings.HostVolume{"a": {Path: "/set", ReadOnly: true}}}}, stubs)
	for source, want := range map[string]string{"a": "/set true true", "b": "/stub true true", "c": " false false"} {
		path, readOnly, ok := find(source)
		if got := fmt.Sprint(path, " ", readOnly, " ", ok); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}

// An agent in the background has the address that clients know.
func TestEarlierAddress(t *testing.T) {
	t.Parallel()
	r := &Agent{dir: &datadir.Agent{Dir: t.TempDir()}}
	for text, want := range map[string]string{
		"127.0.0.1:4646\n": "127.0.0.1:4646", "127.0.0.2:4646\n": "127.0.0.1:0", "127.0.0.1": "127.0.0.1:0", "": "127.0.0.1:0",
	} {
		if text != "" {
			if err := os.WriteFile(r.dir.Path(agentAddress), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.earlierAddress("127.0.0.1", "127.0.0.1:0"); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		_ = os.Remove(r.dir.Path(agentAddress))
	}
}

func TestClosersOfAnAgent(t *testing.T) {
	t.Parallel()
	var closed []int
	r := &Agent{}
	for i := range 3 {
		r.closers = append(r.closers, func() { closed = append(closed, i) })
	}
	r.close()
	r.close()
	if fmt.Sprint(closed) != "[2 1 0]" {
		t.Errorf("closed %v", closed)
	}
}

// testAgent is an agent of this process.
type testAgent struct {
	*Agent
	finder  *lookup.Finder
	signals chan os.Signal
	log     *logBuffer
	ended   chan error
}

// logBuffer is a log that tests wait for.
type logBuffer struct {
	mu      sync.Mutex
	text    string
	changed chan struct{}
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text += string(p)
	close(b.changed)
	b.changed = make(chan struct{})
	return len(p), nil
}

// wait waits until the log has a text, and returns it.
func (b *logBuffer) wait(t *testing.T, part string) string {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		b.mu.Lock()
		text, changed := b.text, b.changed
		b.mu.Unlock()
		if strings.Contains(text, part) {
			return text
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("%q is missing in %q", part, text)
		}
	}
}

// newAgent returns an agent that is about to run, in directories of its own.
func newAgent(t *testing.T, opts Options) (*testAgent, error) {
	t.Helper()
	base, err := os.MkdirTemp("", "agent") //nolint:usetesting // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	streams, _, _ := ui.Test()
	a := &testAgent{signals: make(chan os.Signal), log: &logBuffer{changed: make(chan struct{})}, ended: make(chan error, 1)}
	streams.Err = a.log
	streams.Env = func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": base}[name] }
	c := &console.Console{Streams: streams, Signals: func() (<-chan os.Signal, func()) { return a.signals, func() {} }}
	a.finder = lookup.NewFinder(c)
	if opts.DataDir == "" {
		opts.DataDir = filepath.Join(base, "data")
	}
	a.Agent, err = New(c, a.finder, map[string]drivers.Driver{"mock_driver": mock.New()}, keeper.New(), opts)
	return a, err
}

func (a *testAgent) start(t *testing.T) *client.Server {
	t.Helper()
	go func() { a.ended <- a.Run(context.WithoutCancel(t.Context())) }()
	a.log.wait(t, "the agent has started: process ")
	s, err := client.Local(a.socket)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// end waits until the agent has ended.
func (a *testAgent) end(t *testing.T) {
	t.Helper()
	select {
	case err := <-a.ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the agent has not ended")
	}
	if _, err := os.Stat(a.socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its socket is left: %v", err)
	}
}

// run runs a job with a task that takes a while to stop.
func run(t *testing.T, s *client.Server, killAfter string) {
	t.Helper()
	j := api.NewServiceJob("web", "web", "global", 50).AddTaskGroup(api.NewTaskGroup("g", 1).AddTask(
		api.NewTask("app", "mock_driver").SetConfig("run_for", "1h").SetConfig("kill_after", killAfter)))
	if _, _, err := s.API.Jobs().Register(j, nil); err != nil {
		t.Fatal(err)
	}
}

func TestAgent(t *testing.T) { //nolint:paralleltest // its journal of processes and its signals are those of this process
	for _, tt := range []struct {
		name, killAfter string
		orders          []os.Signal
		want            []string
	}{
		{"stop", "0s", []os.Signal{os.Interrupt}, []string{"[INFO] stopping: interrupt\n"}},
		{"kill", "1h", []os.Signal{os.Interrupt, os.Interrupt}, []string{"[INFO] stopping: interrupt\n", "[INFO] killing the tasks: interrupt\n"}},
		{"ordered to kill", "1h", []os.Signal{KillSignal}, []string{"[INFO] stopping: as ordered\n", "[INFO] killing the tasks: as ordered\n"}},
		{
			"cannot leave", "0s",
			[]os.Signal{LeaveSignal, os.Interrupt},
			[]string{"[WARN] the tasks of an agent in the foreground cannot run without it: start it with --detach\n", "[INFO] stopping: interrupt\n"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := settings.Settings{Client: settings.Client{HostVolumes: map[string]settings.HostVolume{"v": {Path: "/v", ReadOnly: true}}}}
			a, err := newAgent(t, Options{Address: "127.0.0.1:0", Level: levelDebug, Version: "1.2", Settings: set})
			if err != nil {
				t.Fatal(err)
			}
			s := a.start(t)
			address := a.port.Addr().String()
			said := a.log.wait(t, "\n")
			if want := fmt.Sprintf("address  http://%s\nsocket   %s\ndata     %s\ntoken    %s\n", address, a.socket, a.opts.DataDir, filepath.Join(a.opts.DataDir, "agent", "token")); !strings.HasPrefix(said, want) {
				t.Errorf("it says %q, want %q", said, want)
			}
			text, err := os.ReadFile(filepath.Join(a.opts.DataDir, "agent", agentAddress))
			if err != nil || string(text) != address+"\n" {
				t.Errorf("its address is %q, %v", text, err)
			}
			self, err := s.Self(t.Context())
			if want := (&client.Self{Version: "1.2", PID: os.Getpid(), DataDir: a.opts.DataDir, Agent: true, Address: address}); err != nil || cmp.Diff(want, self, ignoreRuns) != "" {
				t.Errorf("it says of itself %+v, %v", self, err)
			}
			node := a.api
			if node.Ports.RPC != 4647 || node.Ports.Serf != 4648 || fmt.Sprint(":", node.Ports.HTTP) != address[strings.LastIndexByte(address, ':'):] || *node.HostVolumes["v"] != (api.HostVolumeInfo{Path: "/v", ReadOnly: true}) {
				t.Errorf("its node has ports %+v, volumes %+v", node.Ports, node.HostVolumes)
			}
			run(t, s, tt.killAfter)
			a.log.wait(t, "/app: Started: ")
			if got := a.busyFor(time.Now()); got != 0 {
				t.Errorf("it is busy for %v although it may be idle", got)
			}
			for i, sig := range tt.orders {
				if sig == os.Interrupt {
					a.signals <- sig
				} else if err := syscall.Kill(os.Getpid(), sig.(syscall.Signal)); err != nil {
					t.Fatal(err)
				}
				a.log.wait(t, tt.want[i])
			}
			a.end(t)
			said = a.log.wait(t, "[INFO] the agent has ended\n")
			for _, part := range tt.want {
				if strings.Count(said, part) != 1 {
					t.Errorf("%q is missing in %q", part, said)
				}
			}
			if l, err := net.Listen("tcp", address); err != nil {
				t.Errorf("its port is taken: %v", err)
			} else {
				l.Close()
			}
		})
	}
}

var ignoreRuns = cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Runs" }, cmp.Ignore())

// An agent without jobs and clients ends after a while.
func TestIdleAgent(t *testing.T) { //nolint:paralleltest // see TestAgent
	a, err := newAgent(t, Options{Idle: time.Millisecond, Level: LevelInfo})
	if err != nil {
		t.Fatal(err)
	}
	a.start(t)
	a.log.wait(t, "[INFO] stopping: no job and no client for 1ms\n") // after a second, at least
	a.end(t)
}

// A job keeps an agent from being idle, and so does a client for a while.
func TestBusyFor(t *testing.T) { //nolint:paralleltest // see TestAgent
	a, err := newAgent(t, Options{Idle: time.Hour, Level: levelDebug})
	if err != nil {
		t.Fatal(err)
	}
	s := a.start(t)
	asked := time.Unix(0, a.asked.Load())
	if got := a.busyFor(asked.Add(20 * time.Minute)); got != 40*time.Minute {
		t.Errorf("it is busy for %v", got)
	}
	run(t, s, "0s")
	a.log.wait(t, "/app: Started: ")
	if now := time.Unix(0, a.asked.Load()); !now.After(asked) {
		t.Errorf("a client asked at %v, and it knows of %v", asked, now)
	}
	if got := a.busyFor(asked.Add(20 * time.Hour)); got != time.Hour {
		t.Errorf("with a job it is busy for %v", got)
	}
	if _, _, err := s.API.Jobs().Deregister("web", false, nil); err != nil {
		t.Fatal(err)
	}
	a.log.wait(t, "web.g[0]")
	a.signals <- os.Interrupt
	a.end(t)
}

// An agent that no client could reach does not run.
func TestAgentWithoutASocket(t *testing.T) { //nolint:paralleltest // see TestAgent
	a, err := newAgent(t, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(a.sockets), os.WriteFile(a.sockets, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := a.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "other commands cannot reach this engine") {
		t.Errorf("error %v", err)
	}
}

func TestNoAgent(t *testing.T) { //nolint:paralleltest // see TestAgent
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	stubs := filepath.Join(t.TempDir(), "stubs.hcl")
	if err := os.WriteFile(stubs, []byte("odd\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	for _, tt := range []struct {
		opts       Options
		want, hint string
	}{
		{Options{Address: taken.Addr().String()}, "address already in use", "stop the program that has the port, or choose another with --http"},
		{Options{Address: "127.0.0.1:x"}, "", ""},
		{Options{StubsFile: stubs, Address: "127.0.0.1:0", Open: true}, "", ""},
		{Options{StubsFile: stubs}, "", ""},
	} {
		tt.opts.DataDir = dir
		_, err := newAgent(t, tt.opts)
		known, ok := errors.AsType[*exit.Error](err)
		if !ok || !strings.Contains(known.Error(), tt.want) || known.Hint != tt.hint {
			t.Errorf("%+v: %v", tt.opts, err)
		}
	}
	a, err := newAgent(t, Options{DataDir: dir, Address: "127.0.0.1:0", Open: true}) // nothing is left of those before
	if err != nil {
		t.Fatal(err)
	}
	if a.token != "" || a.api.Facts["open"] != "true" {
		t.Errorf("it has token %q, facts %v", a.token, a.api.Facts)
	}
	if _, err := newAgent(t, Options{DataDir: dir}); !errors.Is(err, datadir.ErrAgent) { // after a second, because it might be ending
		t.Errorf("a second agent: %v", err)
	}
	a.close()
}
