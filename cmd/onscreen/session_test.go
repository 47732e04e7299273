package onscreen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/pflag"

	"taskrun/cmd/client"
	"taskrun/cmd/cluster"
	"taskrun/cmd/console"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/fullscreen"
	"taskrun/cmd/ui/screen"
	"taskrun/engine/leaf/event"
)

var (
	alloc = &event.Alloc{Job: "web", Group: "g", Name: "web.g[0]", ID: "11111111-1111-1111-1111-111111111111"}
	app   = screen.Target{Alloc: alloc.ID, Task: "app"}
)

// options are those of a screen with one running task.
func options() screen.Options {
	id, group := "web", "g"
	return screen.Options{
		Jobs: []*api.Job{{ID: &id, Name: &id, TaskGroups: []*api.TaskGroup{{Name: &group, Tasks: []*api.Task{{Name: "app"}}}}}},
		Past: []event.Event{
			{Alloc: alloc, Body: event.AllocStatus{Status: "running"}},
			{Alloc: alloc, Task: "app", Body: event.TaskState{State: "running"}},
		},
	}
}

// newSession returns a session with one running task, whose model nothing but the test uses.
func newSession() *Session {
	streams, _, _ := ui.Test()
	s := &Session{
		Console: &console.Console{Streams: streams}, model: screen.New(options()),
		calls: make(chan func()), ended: make(chan struct{}),
	}
	s.model.Resize(120, 30)
	s.feed.wake = make(chan struct{}, 1)
	s.measure.due = time.NewTimer(time.Hour)
	return s
}

// shows reports whether the screen has a text.
func (s *Session) shows(text string) bool { return strings.Contains(s.text(), text) }

func (s *Session) text() string {
	var all strings.Builder
	for _, line := range s.model.Lines(time.Now()) {
		all.WriteString(line.String() + "\n")
	}
	return all.String()
}

// call calls the next function for the model.
func (s *Session) call() { (<-s.calls)() }

// fakeCluster answers requests, and notes those that change something.
type fakeCluster struct {
	mu      sync.Mutex
	ordered []string
}

func (c *fakeCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any = map[string]any{}
	switch path := r.URL.Path; {
	case r.Method != http.MethodGet:
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		c.ordered = append(c.ordered, strings.TrimSpace(r.Method+" "+path+" "+string(body)))
		c.mu.Unlock()
	case path == "/v1/jobs":
		answer = []*api.JobListStub{{ID: "web", Namespace: "default"}}
	case path == "/v1/job/web":
		answer = &api.Job{ID: new("web"), TaskGroups: []*api.TaskGroup{{Name: new("g"), Tasks: []*api.Task{{Name: "app", Actions: []*api.Action{{Name: "flush"}}}}}}}
	case path == "/v1/allocation/"+alloc.ID:
		answer = &api.Allocation{ID: alloc.ID, AllocatedResources: &api.AllocatedResources{Shared: api.AllocatedSharedResources{
			Ports: []api.PortMapping{{Label: "http", Value: 8080, HostIP: "192.0.2.1"}},
		}}}
	case path == "/v1/client/allocation/"+alloc.ID+"/stats":
		used := &api.ResourceUsage{MemoryStats: &api.MemoryStats{RSS: 5 << 20}, CpuStats: &api.CpuStats{Percent: 12.5}}
		answer = &api.AllocResourceUsage{Tasks: map[string]*api.TaskResourceUsage{"app": {ResourceUsage: used}}}
	default:
		http.NotFound(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// inCluster returns a session with a run in a cluster.
func inCluster(t *testing.T) (*Session, *fakeCluster) {
	t.Helper()
	c := &fakeCluster{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	s := newSession()
	var err error
	if s.Server, err = client.Remote(client.Cluster{Address: server.URL}); err != nil {
		t.Fatal(err)
	}
	return s, c
}

func TestOrders(t *testing.T) {
	t.Parallel()
	const of = "/v1/client/allocation/" + "11111111-1111-1111-1111-111111111111"
	for _, tt := range []struct {
		order     screen.Order
		said, err string
		ordered   string
	}{
		{screen.Order{Verb: screen.Restart, Label: "app"}, "restarted app", "", "PUT " + of + `/restart {"TaskName":"app",`},
		{screen.Order{Verb: screen.Signal, Label: "app", Text: "hup"}, "sent SIGHUP to app", "", "PUT " + of + `/signal {"Task":"app","Signal":"SIGHUP"}`},
		{screen.Order{Verb: screen.Signal, Label: "app", Text: "odd"}, "", `unknown signal "odd"`, ""},
		{screen.Order{Verb: screen.Stop, Label: "app"}, "stopped app", "", "PUT " + of + `/pause {"Task":"app","ScheduleState":"pause"}`},
		{screen.Order{Verb: screen.Start, Label: "app"}, "started app", "", "PUT " + of + `/pause {"Task":"app","ScheduleState":"run"}`},
		{screen.Order{Verb: screen.Scale, Job: "web", Group: "g", Count: 3}, "scaled group g to 3", "", `PUT /v1/job/web/scale `},
		{screen.Order{Verb: screen.Scale, Job: "db", Group: "g", Count: 3}, "", `job "db" is not running`, ""},
		{screen.Order{Verb: screen.Promote, Job: "web", Label: "web", Text: "D"}, "promoted the canaries of web", "", `PUT /v1/deployment/promote/D `},
		{screen.Order{Verb: screen.FailRollout, Job: "web", Label: "web", Text: "D"}, "failed the deployment of web", "", `PUT /v1/deployment/fail/D`},
		{screen.Order{Verb: screen.Promote, Job: "db", Label: "db", Text: "D"}, "", `job "db" is not running`, ""},
		{screen.Order{Verb: screen.Leave}, "", "unsupported operation", ""},
	} {
		s, c := inCluster(t)
		said, err := s.give(t.Context(), tt.order, s.tasks([]screen.Target{app}))
		if said != tt.said || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%v: %q, %v", tt.order, said, err)
		}
		if got := strings.Join(c.ordered, "; "); !strings.HasPrefix(got, tt.ordered) || (got == "") != (tt.ordered == "") {
			t.Errorf("%v: ordered %s, want %s", tt.order, got, tt.ordered)
		}
	}
}

// A job is stopped if no task is meant.
func TestStopAJob(t *testing.T) {
	t.Parallel()
	s, c := inCluster(t)
	said, err := s.give(t.Context(), screen.Order{Verb: screen.Stop, Label: "web", Job: "web"}, nil)
	if said != "stopping job web" || err != nil || !slices.Equal(c.ordered, []string{"DELETE /v1/job/web"}) {
		t.Errorf("%q, %v, ordered %q", said, err, c.ordered)
	}
}

// The result of an order is shown.
func TestWhatCameOfAnOrder(t *testing.T) {
	t.Parallel()
	s, _ := inCluster(t)
	for order, want := range map[screen.Verb]string{screen.Restart: "restarted app", screen.Signal: `unknown signal "odd"`} {
		s.orderTasks(t.Context(), screen.Order{Verb: order, Targets: []screen.Target{app}, Label: "app", Text: "odd"})
		s.call()
		if !s.shows(want) {
			t.Errorf("%q is missing in %s", want, s.text())
		}
	}
	s.orderTasks(t.Context(), screen.Order{Verb: screen.AskActions, Targets: []screen.Target{app}, Label: "app"})
	s.call()
	s.call()
	if !s.shows("flush") {
		t.Errorf("the action is missing in %s", s.text())
	}
	s.closing.Wait()
}

func TestBrowse(t *testing.T) {
	t.Parallel()
	s, _ := inCluster(t)
	program := filepath.Join(t.TempDir(), "browser")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntest \"$1\" = http://192.0.2.1:8080/\n"), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	open := screen.Order{Verb: screen.Open, Label: "app"}
	s.Console.Streams.Env = func(string) string { return program }
	if said, err := s.give(t.Context(), open, s.tasks([]screen.Target{app})); said != "opened http://192.0.2.1:8080/" || err != nil {
		t.Errorf("%q, %v", said, err)
	}
	s.Console.Streams.Env = func(string) string { return "/none" }
	if _, err := s.give(t.Context(), open, s.tasks([]screen.Target{app})); err == nil || !strings.HasPrefix(err.Error(), "cannot open http://192.0.2.1:8080/ in a browser: ") {
		t.Errorf("without a browser: %v", err)
	}
	if _, err := s.give(t.Context(), open, nil); err == nil || err.Error() != "app has no port" {
		t.Errorf("without a port: %v", err)
	}
	unknown := s.Server.Task(&event.Alloc{Job: "web", ID: "none"}, "app")
	if _, err := s.give(t.Context(), open, []*client.Task{unknown}); err == nil {
		t.Error("the allocation is unknown, and that is no error")
	}
}

// Only tasks that the model knows can be asked for.
func TestTasks(t *testing.T) {
	t.Parallel()
	s, _ := inCluster(t)
	tasks := s.tasks([]screen.Target{{Alloc: "none", Task: "app"}, app})
	if len(tasks) != 1 || tasks[0].Alloc.ID != alloc.ID || tasks[0].Name != "app" {
		t.Errorf("tasks %v", tasks)
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	s, _ := inCluster(t)
	usage, ports := s.ask(t.Context(), s.tasks([]screen.Target{app}), s.tasks([]screen.Target{app}))
	if got := usage[app]; len(usage) != 1 || got != (screen.Usage{CPU: 12.5, Memory: 5 << 20}) {
		t.Errorf("usage %v", usage)
	}
	if len(ports) != 1 || !slices.Equal(ports[alloc.ID], []screen.Port{{Label: "http", Address: "192.0.2.1:8080"}}) {
		t.Errorf("ports %v", ports)
	}
	if usage, ports := s.ask(t.Context(), nil, []*client.Task{s.Server.Task(&event.Alloc{Job: "web", ID: "none"}, "")}); len(usage)+len(ports) > 0 {
		t.Errorf("of an unknown allocation: %v, %v", usage, ports)
	}
	s.text() // so that the task is visible
	if len(s.model.Visible()) == 0 {
		t.Fatal("no task is visible")
	}
	s.startMeasuring(t.Context())
	if !s.measure.busy {
		t.Error("it does not measure")
	}
	s.startMeasuring(t.Context()) // one at a time
	s.call()
	if s.measure.busy {
		t.Error("it still measures")
	}
	s.closing.Wait()
	if !s.shows("12.5") {
		t.Errorf("the usage is missing in %s", s.text())
	}
}

// Where nothing can be measured, it is tried again.
func TestNothingToMeasure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSession()
		s.model = screen.New(screen.Options{})
		s.startMeasuring(t.Context())
		select {
		case <-s.measure.due.C:
		case <-time.After(10 * time.Minute):
			t.Error("it is not tried again")
		}
		if s.measure.busy {
			t.Error("it measures nothing")
		}
	})
}

func TestConnectionOfOtherCommands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args   []string
		config string
		want   string
		env    int
	}{
		{nil, "", "--address=", 0},
		{nil, "/c", "--address= --config=/c", 0},
		{[]string{"--address=http://n:4646", "--token=T", "--http-auth=a:b", "--region=r"}, "/c", "--address=http://n:4646 --config=/c --region=r", 2},
	} {
		s := newSession()
		s.ConfigFile = tt.config
		flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
		s.At.BindCluster(flags)
		if err := flags.Parse(tt.args); err != nil {
			t.Fatal(err)
		}
		s.Console.Environ = []string{"A=b"}
		if got := strings.Join(s.connectionArgs(), " "); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.args, got, tt.want)
		}
		env := s.environ()
		if len(env) != 1+tt.env || env[0] != "A=b" || tt.env > 0 && (!slices.Contains(env, "TASKRUN_TOKEN=T") || !slices.Contains(env, "TASKRUN_HTTP_AUTH=a:b")) {
			t.Errorf("%q: environment %q", tt.args, env)
		}
	}
}

func TestEndOf(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{"exit 0": "done", "exit 3": "exit code 3", "kill -KILL $$": "signal: killed"} {
		if got := endOf(exec.Command("sh", "-c", script).Run()); got != want {
			t.Errorf("%s: %q", script, got)
		}
	}
}

// stopper is a run that notes how it is stopped.
type stopper struct {
	source.Source
	stopped chan bool
	err     error
}

func (s *stopper) Stop(_ context.Context, kill bool) error {
	s.stopped <- kill
	return s.err
}

// The first signal stops the own run, and the second one kills it.
func TestSignalsOfTheOwnRun(t *testing.T) {
	t.Parallel()
	s := newSession()
	run := &stopper{stopped: make(chan bool, 1)}
	s.Own = &OwnRun{From: run}
	s.Own.signaled(t.Context(), s, syscall.SIGTERM)
	if kill := <-run.stopped; kill || !s.Own.stopping || s.Own.Code != 143 || s.Own.Cause != "terminated" || !s.shows("stopping the run: q again to kill it") {
		t.Errorf("kill %v, %+v: %s", kill, s.Own, s.text())
	}
	s.closing.Wait()
	run.err = errors.New("out of reach")
	s.Own.signaled(t.Context(), s, os.Interrupt)
	if kill := <-run.stopped; !kill || s.Own.Code != 143 || s.Own.Cause != "terminated" {
		t.Errorf("kill %v, %+v", kill, s.Own)
	}
	s.call()
	if !s.shows("out of reach") {
		t.Errorf("the error is missing in %s", s.text())
	}
	caught := make(chan os.Signal, 1)
	s.Own.Caught = caught
	caught <- syscall.SIGHUP
	s.closing.Wait()
	run.err = nil
	s.Own.tookOver(t.Context(), s)
	if kill := <-run.stopped; !kill {
		t.Error("a signal during another command is dropped")
	}
	s.closing.Wait()
}

func TestLeaves(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		choice       string
		ends, alone  bool
		stopped      string
		cause, given string
	}{
		{"", true, false, "", "", ""},
		{leaveAlone, true, true, "", "", ""},
		{leaveStop, false, false, "false", "you stopped it", ""},
		{leaveKill, false, false, "true", "a signal", "a signal"},
	} {
		s := newSession()
		run := &stopper{stopped: make(chan bool, 1)}
		s.Own = &OwnRun{From: run, Cause: tt.given}
		if ends := s.leaves(t.Context(), tt.choice); ends != tt.ends || s.Own.Alone != tt.alone || s.Own.Cause != tt.cause {
			t.Errorf("%q: ends %v, %+v", tt.choice, ends, s.Own)
		}
		s.closing.Wait()
		got := ""
		if len(run.stopped) > 0 {
			got = fmt.Sprint(<-run.stopped)
		}
		if got != tt.stopped {
			t.Errorf("%q: stopped %q", tt.choice, got)
		}
	}
}

// Of jobs in a cluster the loop that follows them decides.
func TestLeavingACluster(t *testing.T) {
	t.Parallel()
	s := newSession()
	remote := NewLeaving()
	s.Own = &OwnRun{Remote: remote}
	for _, choice := range []string{leaveStop, leaveAlone} {
		if s.leaves(t.Context(), choice) {
			t.Error("the screen ends at once")
		}
		if sig, answer := <-remote.Signals, <-remote.Answers(); sig != os.Interrupt || answer != choice || !s.Own.stopping {
			t.Errorf("%q: %v, %q, stopping %v", choice, sig, answer, s.Own.stopping)
		}
	}
	if !s.leaves(t.Context(), "") {
		t.Error("without a choice the screen does not end")
	}
	s.Own.signaled(t.Context(), s, syscall.SIGTERM)
	if sig, answer := <-remote.Signals, <-remote.Answers(); sig != syscall.SIGTERM || answer != leaveAlone {
		t.Errorf("%v, %q", sig, answer)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Own.signaled(ctx, s, syscall.SIGTERM) // nobody receives it
	s.closing.Wait()
	for _, tt := range []struct {
		err  error
		left bool
	}{{&source.LeftError{Code: 3}, true}, {io.EOF, false}, {nil, false}} {
		remote := NewLeaving()
		s.Own, s.left = &OwnRun{Remote: remote}, false
		s.over(tt.err)
		if s.left != tt.left || (remote.Left != nil) != tt.left || !tt.left && !errors.Is(remote.Failure, tt.err) || tt.left && remote.Failure != nil {
			t.Errorf("%v: left %v, %+v", tt.err, s.left, remote)
		}
	}
}

func TestOver(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		own   *OwnRun
		err   error
		left  bool
		shown string
	}{
		{nil, nil, false, "ended"},
		{&OwnRun{}, nil, false, "ended"},
		{&OwnRun{stopping: true}, nil, true, "ended"},
		{&OwnRun{stopping: true}, errors.New("it is gone"), false, "out of reach"},
	} {
		s := newSession()
		s.Own = tt.own
		s.over(tt.err)
		if s.left != tt.left || !s.shows(tt.shown) || tt.err != nil && !s.shows("it is gone") {
			t.Errorf("%+v: left %v, %s", tt, s.left, s.text())
		}
	}
	if (*OwnRun)(nil).signals() != nil {
		t.Error("a run of others has signals")
	}
}

// Events are applied in batches, until they end.
func TestRun(t *testing.T) {
	t.Parallel()
	s := newSession()
	var bus event.Bus
	events := bus.Subscribe(false)
	second := &event.Alloc{Job: "web", Group: "g", Name: "web.g[1]", ID: "22222222-1111-1111-1111-111111111111"}
	for i := range maxBatch + 2 {
		of := alloc
		if i > maxBatch {
			of = second
		}
		bus.Publish(of, "", event.AllocStatus{Status: "running"})
	}
	bus.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(t.Context(), events)
	}()
	s.measure.pause = time.Hour
	s.call()
	if s.model.Alloc(second.ID) != nil {
		t.Error("a batch is too large")
	}
	if s.measure.pause != measureOften {
		t.Errorf("tasks that do something are measured every %v", s.measure.pause)
	}
	s.call()
	if s.model.Alloc(second.ID) == nil {
		t.Error("an event is missing")
	}
	<-ended
	close(s.ended)
	s.Say("too late") // nobody receives it
	if s.Broken() != nil {
		t.Error("it may break")
	}
}

func TestSay(t *testing.T) {
	t.Parallel()
	s := newSession()
	go s.SayAfter(1, "a message")
	s.call()
	if !s.shows("a message") {
		t.Errorf("the message is missing in %s", s.text())
	}
}

// Of a flood of output the latest part is shown, and how much is missing.
func TestFeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSession()
		f := &s.feed
		add := func(text string, n int) {
			f.add(t.Context(), fed{app, event.Stdout, time.Now(), []byte(strings.Repeat(text, n)), 0})
		}
		state := func() (text string) {
			for _, p := range f.queue {
				text += fmt.Sprintf("%d/%d ", p.gap, len(p.text))
			}
			return text + fmt.Sprint(f.size)
		}
		f.taken = time.Now()
		add("a", feedBurst/2)
		add("b", feedBurst/2)
		if got := state(); got != "0/524288 0/524288 1048576" || len(f.wake) != 1 {
			t.Errorf("a full queue is %s", got)
		}
		add("c", 1)
		if got := state(); got != "524288/0 0/524288 0/1 524289" {
			t.Errorf("after one more byte: %s", got)
		}
		add("d", feedBurst)
		if got := state(); got != "1048577/0 0/1048576 1048576" {
			t.Errorf("gaps that follow each other: %s", got)
		}
		f.take(s.model)
		if got := state(); got != "0" || f.used != feedBurst || f.room() != 0 {
			t.Errorf("after a picture: %s, %d of the burst are used, room %d", got, f.used, f.room())
		}
		<-time.After(time.Second / 2)
		if got := f.room(); got != feedRate/2 {
			t.Errorf("after half a second there is room for %d bytes", got)
		}
		<-time.After(time.Minute)
		if got := f.room(); got != feedBurst {
			t.Errorf("after a minute there is room for %d bytes", got)
		}
		add("e", 1)
		f.clear()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f.add(ctx, fed{app, event.Stdout, time.Now(), []byte("other"), 0})
		if got := state(); got != "0" {
			t.Errorf("after a change of tasks: %s", got)
		}
	})
}

// Output and gaps are shown with the next picture, each once.
func TestTakeFeed(t *testing.T) {
	t.Parallel()
	s := newSession()
	for _, piece := range []fed{{app, event.Stdout, time.Now(), nil, 7}, {app, event.Stdout, time.Now(), []byte("some text\n"), 0}} {
		s.feed.add(t.Context(), piece)
	}
	s.feed.take(s.model)
	s.feed.take(s.model)
	for _, part := range []string{"7 bytes of stdout are not shown", "some text"} {
		if n := strings.Count(s.text(), part); n != 1 {
			t.Errorf("%q is shown %d times in %s", part, n, s.text())
		}
	}
}

// A cluster that does not answer is the reason why a job is not found.
func TestJobOfASilentCluster(t *testing.T) {
	t.Parallel()
	s := newSession()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	var err error
	if s.Server, err = client.Remote(client.Cluster{Address: server.URL}); err != nil {
		t.Fatal(err)
	}
	if j, err := s.job(t.Context(), "web"); j != nil || err == nil || strings.Contains(err.Error(), "is not running") {
		t.Errorf("%v, %v", j, err)
	}
}

// Output is followed as long as its task is shown, and not again while it is.
func TestFollowShown(t *testing.T) {
	t.Parallel()
	s := newSession()
	followed := make(chan []screen.Target, 1)
	s.Outputs = func(targets []screen.Target, _ int) Output {
		followed <- targets
		return &endless{}
	}
	s.text()
	s.followShown(t.Context())
	if got := <-followed; !slices.Equal(got, []screen.Target{app}) {
		t.Errorf("followed %v", got)
	}
	s.feed.add(t.Context(), fed{app, event.Stdout, time.Now(), []byte("old"), 0})
	s.followShown(t.Context())
	if len(followed) > 0 || len(s.feed.queue) != 1 {
		t.Errorf("followed again, %d pieces", len(s.feed.queue))
	}
	s.shown = nil
	first, ended := s.unshow, false
	s.unshow = func() { ended = true; first() }
	s.followShown(t.Context())
	<-followed
	if !ended || len(s.feed.queue) != 0 {
		t.Errorf("after a change: ended %v, %d pieces", ended, len(s.feed.queue))
	}
	s.unshow()
	s.closing.Wait()
}

// endless is output that never ends.
type endless struct{ bus event.Bus }

func (o *endless) Subscribe(output bool) *event.Subscription { return o.bus.Subscribe(output) }

func (o *endless) Follow(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Keys and mouse events reach the model.
func TestInput(t *testing.T) {
	t.Parallel()
	s := newSession()
	before := s.text()
	if s.input(fullscreen.Input{}); s.text() != before {
		t.Error("nothing changes the screen")
	}
	s.input(fullscreen.Input{Key: "?"})
	help := s.text()
	if help == before {
		t.Error("a key does not change the screen")
	}
	if s.input(fullscreen.Input{Key: "esc"}); s.text() != before {
		t.Errorf("the help is left: %s", s.text())
	}
	if s.input(fullscreen.Input{Key: "?", Pasted: true}); s.text() == help {
		t.Error("text that is pasted is taken for a key")
	}
}

// Gaps of different outputs stay apart.
func TestGapsOfSeveralOutputs(t *testing.T) {
	t.Parallel()
	other := screen.Target{Alloc: alloc.ID, Task: "other"}
	f := &feed{queue: []fed{
		{app, event.Stdout, time.Time{}, nil, 1}, {app, event.Stdout, time.Time{}, nil, 2}, {app, event.Stderr, time.Time{}, nil, 4}, {other, event.Stderr, time.Time{}, nil, 8},
	}}
	f.join()
	if len(f.queue) != 3 || f.queue[0].gap != 3 || f.queue[1].gap != 4 {
		t.Errorf("joined to %+v", f.queue)
	}
}

// The output of tasks is followed from its sources, pieces as well as gaps.
func TestFollowOutput(t *testing.T) {
	t.Parallel()
	s := newSession()
	from := &fakeOutput{}
	tail := 0
	s.Outputs = func(_ []screen.Target, n int) Output { tail = n; return from }
	s.follow(t.Context(), []screen.Target{app})
	if len(s.feed.queue) != 2 || string(s.feed.queue[0].text) != "text" || s.feed.queue[0].Target != app || s.feed.queue[1].gap != 7 || tail != shownTail/2 {
		t.Errorf("fed %+v, tail %d", s.feed.queue, tail)
	}
	s.follow(t.Context(), make([]screen.Target, shownTail))
	if tail != 20 {
		t.Errorf("the tail of many tasks is %d", tail)
	}
}

type fakeOutput struct{ bus event.Bus }

func (o *fakeOutput) Subscribe(output bool) *event.Subscription { return o.bus.Subscribe(output) }

func (o *fakeOutput) Follow(context.Context) error {
	event.NewPieces(1).Publish(&o.bus, time.Time{}, alloc, "app", event.Stdout, []byte("text"), nil)
	o.bus.Publish(alloc, "app", event.Gap{Stream: event.Stdout, Bytes: 7})
	o.bus.Close()
	return nil
}

// An output of a run of this machine has the tasks that are shown, and knows if all
// are in one allocation.
func TestDirectoryOutputs(t *testing.T) {
	t.Parallel()
	of := source.NewDirectory(&client.Server{}, &client.Self{Runs: map[string]string{"web": t.TempDir(), "db": "/d"}})
	of.IDs, of.EndedJobs = []string{"web"}, map[string]bool{"db": true}
	other := screen.Target{Alloc: "other", Task: "app"}
	for _, targets := range [][]screen.Target{{app}, {app, other}} {
		d := directoryOutputs(of)(targets, 5).(closingDirectory)
		if d.Tail != 5 || d.Detail != source.Outputs || d.Newest == 0 || (d.Alloc == alloc.ID) != (len(targets) == 1) || d.Alloc == "other" || !slices.Equal(d.IDs, of.IDs) || !d.EndedJobs["db"] {
			t.Errorf("%v: %+v", targets, d)
		}
		for target, want := range map[screen.Target]bool{app: true, other: len(targets) > 1, {Alloc: alloc.ID, Task: "b"}: false} {
			if got := d.Want(of.Server.Task(&event.Alloc{ID: target.Alloc}, target.Task), event.Stdout); got != want {
				t.Errorf("%v of %v: %v", target, targets, got)
			}
		}
	}
	server := &client.Server{}
	logs := ClusterOutputs(server, "web")([]screen.Target{app}, 5).(*cluster.Logs)
	tasks := []*client.Task{server.Task(alloc, "app"), server.Task(alloc, "other")}
	if got := logs.Want(tasks); logs.Job != "web" || logs.Tail != 5 || logs.Server != server || len(got) != 1 || got[0].Name != "app" {
		t.Errorf("%+v wants %v", logs, got)
	}
}
