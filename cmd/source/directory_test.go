package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/history"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

// fakeEngine serves a run in a directory, with one allocation of one task.
type fakeEngine struct {
	*httptest.Server
	dir, socket string // directory of the run, and its socket

	mu      sync.Mutex
	index   uint64
	changed chan struct{} // closed at each change
	frames  string        // frames of the task's stdout
	jobs    []*api.JobListStub
	ordered []string
}

// life returns a context that limits the waits of a test.
func life(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Second, errors.New("it takes too long"))
	t.Cleanup(cancel)
	return ctx
}

func newFakeEngine(t *testing.T) *fakeEngine {
	t.Helper()
	sockets, err := os.MkdirTemp("", "source") //nolint:usetesting // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	e := &fakeEngine{dir: leaktest.TempDir(t), socket: filepath.Join(sockets, "web.sock"), index: 10, changed: make(chan struct{})}
	listener, err := net.Listen("unix", e.socket)
	if err != nil {
		t.Fatal(err)
	}
	e.Server = httptest.NewUnstartedServer(e)
	e.Listener.Close()
	e.Listener = listener
	e.Start()
	t.Cleanup(e.die)
	e.append(t, "alloc/1/alloc/logs/t.stdout.0", "one\n")
	e.append(t, history.File, taskEvent("Received", 1)+taskEvent("Started", 2))
	return e
}

func taskEvent(kind string, second int) string {
	return fmt.Sprintf(`{"time":"2026-03-14T12:00:%02dZ","type":"task_event","job":"web","group":"g","alloc":"web.g[0]","alloc_id":"1","task":"t","event":%q}`+"\n", second, kind)
}

// append writes to a file of the run.
func (e *fakeEngine) append(t *testing.T, file, text string) {
	t.Helper()
	path := filepath.Join(e.dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// change notifies clients of a change.
func (e *fakeEngine) change(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f != nil {
		f()
	}
	e.index++
	close(e.changed)
	e.changed = make(chan struct{})
}

// die ends the engine.
func (e *fakeEngine) die() {
	e.Listener.Close()
	e.CloseClientConnections()
	e.change(nil)
	e.Close()
}

func (e *fakeEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.ParseUint(r.URL.Query().Get("index"), 10, 64)
	wait, err := time.ParseDuration(r.URL.Query().Get("wait"))
	if err != nil {
		wait = time.Minute
	}
	e.mu.Lock()
	for limit := time.After(wait); after >= e.index; {
		changed := e.changed
		e.mu.Unlock()
		select {
		case <-changed:
		case <-limit:
			after = 0
		case <-r.Context().Done():
			return
		}
		e.mu.Lock()
	}
	defer e.mu.Unlock()
	w.Header().Set("X-Nomad-Index", strconv.FormatUint(e.index, 10))
	var answer any
	switch path := r.URL.Path; {
	case r.Method == http.MethodDelete:
		e.ordered = append(e.ordered, path+"?"+r.URL.RawQuery)
		answer = map[string]any{}
	case path == "/v1/allocations":
		state := &api.TaskState{State: "running", StartedAt: time.Unix(1, 0)}
		answer = []*api.AllocationListStub{{
			ID: "1", Name: "web.g[0]", JobID: "web", TaskGroup: "g", ClientStatus: "running",
			TaskStates: map[string]*api.TaskState{"t": state, "unwanted": state},
		}}
	case path == "/v1/jobs":
		answer = e.jobs
	case path == "/v1/job/web":
		answer = &api.Job{ID: new("web")}
	case path == "/v1/client/fs/outputs":
		e.stream(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// stream announces output until the client leaves. The caller must hold the
// lock.
func (e *fakeEngine) stream(w http.ResponseWriter, r *http.Request) {
	for {
		frames, changed := e.frames, e.changed
		e.frames = ""
		_, err := w.Write([]byte(frames + `{"File":"1/t.stdout"}`))
		if err == nil {
			err = http.NewResponseController(w).Flush()
		}
		e.mu.Unlock()
		select {
		case <-changed:
		case <-r.Context().Done():
		}
		e.mu.Lock()
		if err != nil || r.Context().Err() != nil {
			return
		}
	}
}

func (e *fakeEngine) directory(t *testing.T) *Directory {
	t.Helper()
	s, err := Local(e.socket)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDirectory(s, &client.Self{Runs: map[string]string{"web": e.dir}})
	t.Cleanup(d.Close)
	return d
}

// followedRun is a run that is followed by a test.
type followedRun struct {
	sub   *event.Subscription
	ended chan error
}

func begin(t *testing.T, d *Directory) *followedRun {
	t.Helper()
	f := &followedRun{d.Subscribe(true), make(chan error, 1)}
	go func() { f.ended <- d.Follow(life(t)) }()
	return f
}

// next describes the next n events; consecutive output is joined.
func (f *followedRun) next(t *testing.T, n int) (all []string) {
	t.Helper()
	for len(all) < n {
		e, ok := f.sub.Next(life(t))
		if !ok {
			return append(all, "the end")
		}
		switch body := e.Body.(type) {
		case event.Output:
			piece := make([]byte, body.Length)
			_, _ = body.Source.ReadAt(piece, body.Offset)
			all = append(all, fmt.Sprintf("%s %s %q", e.Task, body.Stream, piece))
		case event.TaskEvent:
			all = append(all, body.Type)
		case event.Notice:
			all = append(all, body.Text)
		default:
			all = append(all, fmt.Sprintf("%T", body))
		}
	}
	return all
}

func (f *followedRun) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := f.next(t, len(want)); !slices.Equal(got, want) {
		t.Errorf("published %q, want %q", got, want)
	}
}

func (f *followedRun) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-f.ended:
		return err
	case <-life(t).Done():
		return context.Cause(life(t))
	}
}

// A run is followed from its beginning to its end, through the loss of the
// connection: each event comes after the earlier output of its task.
func TestDirectoryIsFollowed(t *testing.T) {
	t.Parallel()
	for name, detail := range map[string]Detail{"all": All, "events": Events} {
		e := newFakeEngine(t)
		d := e.directory(t)
		d.Detail = detail
		if began, err := d.Began(); err != nil || !began.Equal(time.Date(2026, 3, 14, 12, 0, 1, 0, time.UTC)) {
			t.Errorf("%s: began %v, %v", name, began, err)
		}
		f := begin(t, d)
		output := func(want string) {
			t.Helper()
			if detail == All {
				f.expect(t, want)
			}
		}
		f.expect(t, "Received", "Started")
		output(`t stdout "one\n"`)
		e.append(t, "alloc/1/alloc/logs/t.stdout.0", "two\n")
		e.change(nil)
		output(`t stdout "two\n"`)
		e.CloseClientConnections()
		e.append(t, "alloc/1/alloc/logs/t.stdout.0", "three\n")
		e.append(t, history.File, taskEvent("Terminated", 3)[:20])
		e.change(nil)
		output(`t stdout "three\n"`)
		e.append(t, "alloc/1/alloc/logs/t.stdout.0", "four\n")
		e.append(t, history.File, taskEvent("Terminated", 3)[20:])
		e.append(t, SummaryFile, "{}")
		e.die()
		output(`t stdout "four\n"`)
		f.expect(t, "Terminated", "the end")
		if err := f.end(t); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Past events are not published again, and only new output is.
func TestPastOfADirectory(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.directory(t)
	if past, err := d.Past(t.Context()); len(past) != 2 || err != nil {
		t.Fatalf("past %v, %v", past, err)
	}
	f := begin(t, d)
	e.append(t, "alloc/1/alloc/logs/t.stdout.0", "two\n")
	e.append(t, history.File, taskEvent("Terminated", 3))
	e.change(nil)
	f.expect(t, `t stdout "two\n"`, "Terminated")
	e.die() // without a report of its end
	if err := f.end(t); !errors.Is(err, client.ErrGone) {
		t.Errorf("error %v", err)
	}
}

// With Outputs, only wanted outputs are published, from their last lines on,
// including output without files.
func TestOutputsOfADirectory(t *testing.T) {
	t.Parallel()
	for tail, want := range map[int]string{-1: `t stdout "zero\none\n"`, 1: `t stdout "one\n"`} {
		e := newFakeEngine(t)
		if err := os.Remove(filepath.Join(e.dir, history.File)); err != nil { // it is not needed
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(e.dir, "alloc/1/alloc/logs/t.stdout.0"), []byte("zero\none\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		d := e.directory(t)
		d.Detail, d.Tail = Outputs, tail
		d.Want = func(t *client.Task, _ event.Stream) bool { return t.Name == "t" }
		f := begin(t, d)
		f.expect(t, want)
		e.change(func() {
			e.frames = `{"File":"1/t.stdout","Data":"YQ=="}{"File":"1/t.stdout","FileEvent":"some is missing"}`
		})
		f.expect(t, `t stdout "a"`, `stdout of task "t": some is missing`)
		e.append(t, SummaryFile, "{}")
		e.append(t, "alloc/1/alloc/logs/t.stdout.0", "last")
		e.die()
		f.expect(t, `t stdout "last"`, "the end")
		if err := f.end(t); err != nil {
			t.Errorf("tail %d: %v", tail, err)
		}
	}
}

// Outputs of tasks that no engine has listed are published once the run has
// ended, like any other.
func TestOutputsThatNoEngineHasListed(t *testing.T) {
	t.Parallel()
	for tail, want := range map[int][]string{-1: {`t stdout "zero\none\n"`, "the end"}, 1: {`t stdout "one\n"`, "the end"}, 0: {"the end"}} {
		e := newFakeEngine(t)
		e.append(t, history.File, strings.ReplaceAll(taskEvent("Started", 3), `"t"`, `"unwanted"`))
		for _, name := range []string{"t", "unwanted"} {
			if err := os.WriteFile(filepath.Join(e.dir, "alloc/1/alloc/logs/"+name+".stdout.0"), []byte("zero\none\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d := e.directory(t)
		d.Detail, d.Tail = Outputs, tail
		d.Want = func(t *client.Task, stream event.Stream) bool {
			return t.Name == "t" && t.Alloc.JobID == "web" && t.Alloc.Name == "web.g[0]" && stream == event.Stdout
		}
		e.append(t, SummaryFile, "{}")
		e.die()
		f := begin(t, d)
		f.expect(t, want...)
		if err := f.end(t); err != nil {
			t.Errorf("tail %d: %v", tail, err)
		}
	}
}

// The end of a run needs no history, and a job may end while others continue.
func TestEndOfADirectory(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		only  []string
		kill  bool
		order string
	}{
		"the run":         {nil, false, "/v1/job/web?run=stop"},
		"the run, dead":   {nil, true, "/v1/job/web?run=kill"},
		"one of the jobs": {[]string{"web"}, false, "/v1/job/web?"},
	} {
		e := newFakeEngine(t)
		e.jobs = []*api.JobListStub{{ID: "web", Status: "running"}, {ID: "other", Status: "running"}}
		if err := os.Remove(filepath.Join(e.dir, history.File)); err != nil {
			t.Fatal(err)
		}
		d := e.directory(t)
		d.Detail, d.Only = End, tt.only
		if err := d.Stop(life(t), tt.kill); err != nil {
			t.Fatal(err)
		}
		f := begin(t, d)
		if tt.only != nil {
			e.change(func() { e.jobs[0].Status = "dead" })
		} else {
			e.append(t, SummaryFile, "{}")
			e.die()
		}
		f.expect(t, "the end")
		if err := f.end(t); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if ended, err := d.Ended(); ended != (tt.only == nil) || err != nil {
			t.Errorf("%s: ended %t, %v", name, ended, err)
		}
		e.mu.Lock()
		if !slices.Equal(e.ordered, []string{tt.order}) {
			t.Errorf("%s: ordered %q", name, e.ordered)
		}
		e.mu.Unlock()
	}
}

// OnlyEnded is true once all of the jobs are dead or gone, and another one is
// not.
func TestOnlyEnded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		only []string
		jobs string
		want bool
	}{
		"both have ended":       {[]string{"a", "b"}, "a:dead b:dead c:running", true},
		"another has, too":      {[]string{"a", "b"}, "d:dead a:dead b:dead c:pending", true},
		"one has":               {[]string{"a", "b"}, "a:running b:dead c:running", false},
		"the other has":         {[]string{"a", "b"}, "c:running a:dead b:pending", false},
		"they are gone":         {[]string{"a", "b"}, "c:running", true},
		"no other goes on":      {[]string{"a", "b"}, "a:dead b:dead c:dead", false},
		"there is no other":     {[]string{"a", "b"}, "a:dead b:dead", false},
		"all are to be stopped": {nil, "a:dead b:running", false},
	} {
		var jobs []*api.JobListStub
		for _, word := range strings.Fields(tt.jobs) {
			id, status, _ := strings.Cut(word, ":")
			jobs = append(jobs, &api.JobListStub{ID: id, Status: status})
		}
		if got := (&Directory{Server: &client.Server{}, Self: &client.Self{}, Only: tt.only}).onlyEnded(jobs); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A run without its history cannot be shown, and one without a server cannot be
// stopped, unless it has ended.
func TestDirectoryThatIsIncomplete(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	if err := os.Remove(filepath.Join(e.dir, history.File)); err != nil {
		t.Fatal(err)
	}
	const want = "cannot read the events of a run"
	d := e.directory(t)
	_, beganErr := d.Began()
	_, pastErr := d.Past(t.Context())
	_, historyErr := History(e.dir)
	for what, err := range map[string]error{"began": beganErr, "past": pastErr, "history": historyErr, "follow": d.Follow(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", what, err)
		}
	}
	if jobs, err := d.Jobs(life(t)); err != nil || len(jobs) != 1 || *jobs[0].ID != "web" {
		t.Errorf("jobs %v, %v", jobs, err)
	}
	e.die()
	if err := d.Stop(life(t), false); err == nil || !strings.Contains(err.Error(), d.Log("web")) {
		t.Errorf("error %v", err)
	}
	e.append(t, SummaryFile, "{}")
	if err := d.Stop(life(t), false); err != nil {
		t.Errorf("of a run that has ended: %v", err)
	}
}

// The end of a context ends following, however slow the reader is.
func TestFollowingADirectoryEndsWithItsContext(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	e.append(t, "alloc/1/alloc/logs/t.stdout.0", strings.Repeat("x", 2*maxPieces*pieceSize))
	d := e.directory(t)
	d.Subscribe(true) // it is never read
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	ended := make(chan error, 1)
	go func() { ended <- d.Follow(ctx) }()
	select {
	case err := <-ended:
		t.Fatalf("it did not wait for the reader: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	cancel(enough)
	select {
	case err := <-ended:
		if !errors.Is(err, enough) {
			t.Errorf("error %v", err)
		}
	case <-life(t).Done():
		t.Error("it does not end")
	}
}

// Checking an output without news needs no buffer, and pieces that are not
// shown yet keep their text. The test is not parallel: it counts allocations.
func TestReadsShareABuffer(t *testing.T) { //nolint:paralleltest // see above
	e := newFakeEngine(t)
	d := e.directory(t)
	f := &followedRun{sub: d.Subscribe(true)}
	if err := d.load(); err != nil {
		t.Fatal(err)
	}
	d.publish()
	read := func() {
		if _, err := d.read(outputKey{"1", "t", event.Stdout}, maxPieces); err != nil {
			t.Fatal(err)
		}
	}
	read()
	e.append(t, "alloc/1/alloc/logs/t.stdout.0", "two\n")
	read()
	const looks = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range looks {
		read()
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / looks; each > pieceSize/4 {
		t.Errorf("each look at an output takes %d bytes", each)
	}
	f.expect(t, "Received", "Started", `t stdout "one\n"`, `t stdout "two\n"`)
}

// A pump reads only outputs that may have grown: those of which the engine has announced
// that, and those that it does not announce.
func TestOnlyOutputsThatGrewAreRead(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.directory(t)
	key := outputKey{"1", "t", event.Stdout}
	alloc := &event.Alloc{Job: "web", Group: "g", Name: "web.g[0]", ID: "1"}
	sub := d.Subscribe(true)
	defer sub.Close()
	grown := client.Grown{Alloc: "1", Task: "t", Stream: event.Stdout, NewFile: true}
	reads := func(when, want string) {
		t.Helper()
		e.append(t, "alloc/1/alloc/logs/t.stdout.0", when+"\n")
		if err := d.pump(); err != nil {
			t.Error(err)
		}
		got := ""
		for sub.Ready() {
			next, _ := sub.Next(t.Context())
			if body, ok := next.Body.(event.Output); ok {
				piece := make([]byte, body.Length)
				_, _ = body.Source.ReadAt(piece, body.Offset)
				got += string(piece)
			}
		}
		if got != want {
			t.Errorf("%s: read %q, want %q", when, got, want)
		}
	}
	d.open(alloc, key)
	reads("opened", "one\nopened\n")
	reads("nothing is known", "nothing is known\n")
	d.tells(true)
	reads("the engine announces", "the engine announces\n")
	reads("silent", "")
	d.grown(grown)
	reads("announced", "silent\nannounced\n")
	reads("silent again", "")
	d.grown(grown)
	reads("announced again", "silent again\nannounced again\n")
	d.tells(false)
	reads("not followed", "not followed\n")
	reads("still not", "still not\n")
}

// With Newest, only the newest part of new output is read, except at first.
func TestNewestOutputOfADirectory(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.directory(t)
	d.Detail, d.Tail, d.Newest = Outputs, -1, 3
	d.Want = func(t *client.Task, _ event.Stream) bool { return t.Name == "t" }
	f := begin(t, d)
	f.expect(t, `t stdout "one\n"`)
	e.append(t, "alloc/1/alloc/logs/t.stdout.0", "a flood\n")
	e.change(nil)
	f.expect(t, "event.Gap", `t stdout "od\n"`)
	e.append(t, SummaryFile, "{}")
	e.die()
	f.expect(t, "the end")
	if err := f.end(t); err != nil {
		t.Error(err)
	}
}
