package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
)

// fakeCluster is a cluster in memory with blocking queries. A test changes it
// and checks the published events.
type fakeCluster struct {
	mu      sync.Mutex
	index   uint64
	changed chan struct{} // closed at each change
	answers map[string]any
	refused map[string]int    // status codes by path
	outputs map[string]string // text by ALLOC/TASK.STREAM
	asked   []string
}

func newFakeCluster() *fakeCluster {
	return &fakeCluster{
		index: 10, changed: make(chan struct{}), answers: map[string]any{}, refused: map[string]int{}, outputs: map[string]string{},
	}
}

func (w *fakeCluster) server(t *testing.T) *client.Server {
	t.Helper()
	c, err := api.NewClient(&api.Config{Address: "http://cluster", HttpClient: &http.Client{Transport: w}})
	if err != nil {
		t.Fatal(err)
	}
	return &client.Server{API: c}
}

// set changes responses of the API, by paths below /v1/, and waits until all
// consequences are published. Nil means 404.
func (w *fakeCluster) set(answers map[string]any) {
	w.mu.Lock()
	for path, answer := range answers {
		w.answers["/v1/"+path] = answer
	}
	w.index++
	close(w.changed)
	w.changed = make(chan struct{})
	w.mu.Unlock()
	<-time.After(2 * idlePause) // missing objects are polled meanwhile
	synctest.Wait()
}

// write lets a task write output.
func (w *fakeCluster) write(output, text string) {
	w.mu.Lock()
	w.outputs[output] += text
	w.mu.Unlock()
	w.set(nil)
}

func (w *fakeCluster) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	w.mu.Lock()
	w.asked = append(w.asked, r.URL.Path)
	after, _ := strconv.ParseUint(q.Get("index"), 10, 64)
	wait, _ := time.ParseDuration(q.Get("wait"))
	for after >= w.index && w.refused[r.URL.Path] == 0 {
		changed := w.changed
		w.mu.Unlock()
		select {
		case <-changed:
		case <-time.After(wait):
			after = 0
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		w.mu.Lock()
	}
	defer w.mu.Unlock()
	header := http.Header{"X-Nomad-Index": {strconv.FormatUint(w.index, 10)}}
	answer := func(code int, body io.ReadCloser) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: header, ContentLength: -1, Body: body, Request: r}, nil
	}
	if code := w.refused[r.URL.Path]; code != 0 {
		return answer(code, io.NopCloser(strings.NewReader("no")))
	}
	var body any
	switch dir, alloc := path.Split(r.URL.Path); dir {
	case "/v1/client/fs/logs/":
		return answer(http.StatusOK, w.read(r, alloc+"/"+q.Get("task")+"."+q.Get("type")))
	case "/v1/client/fs/ls/":
		files := []api.AllocFileInfo{}
		for output, text := range w.outputs {
			if name, ok := strings.CutPrefix(output, alloc+"/"); ok {
				files = append(files, api.AllocFileInfo{Name: name + ".0", Size: int64(len(text))})
			}
		}
		body = files
	default:
		if body = w.answers[r.URL.Path]; body == nil {
			return answer(http.StatusNotFound, io.NopCloser(strings.NewReader("not found")))
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return answer(http.StatusOK, io.NopCloser(bytes.NewReader(text)))
}

// read returns frames of an output, and later output if it is followed.
func (w *fakeCluster) read(r *http.Request, output string) io.ReadCloser {
	q := r.URL.Query()
	at, _ := strconv.Atoi(q.Get("offset"))
	if q.Get("plain") == "true" {
		return io.NopCloser(strings.NewReader(w.outputs[output][at:]))
	}
	out, in := io.Pipe()
	go func() {
		for {
			w.mu.Lock()
			text, changed := w.outputs[output], w.changed
			w.mu.Unlock()
			if at < len(text) {
				frame := api.StreamFrame{File: "alloc/logs/" + path.Base(output) + ".0", Data: []byte(text[at:]), Offset: int64(len(text))}
				if json.NewEncoder(in).Encode(frame) != nil {
					return
				}
				at = len(text)
			}
			if q.Get("follow") != "true" {
				in.Close()
				return
			}
			select {
			case <-changed:
			case <-time.After(time.Second):
				_, _ = io.WriteString(in, "{}") // a sign of life
			case <-r.Context().Done():
				in.CloseWithError(r.Context().Err())
				return
			}
		}
	}()
	return out
}

// second is a time of the cluster.
func second(n int64) time.Time { return time.Unix(n, 0) }

// stub returns an allocation of group g that was created at a second, with task
// states.
func stub(id, status string, created int64, tasks map[string]*api.TaskState) *api.AllocationListStub {
	return &api.AllocationListStub{
		ID: id, Name: "web.g[0]", JobID: "web", TaskGroup: "g", DesiredStatus: "run", ClientStatus: status, ClientDescription: "so it is",
		CreateTime: second(created).UnixNano(), CreateIndex: uint64(created), ModifyTime: second(created + 50).UnixNano(), ModifyIndex: uint64(created) + 50, TaskStates: tasks,
	}
}

// state returns the state of a task after happenings.
func state(state, text string) *api.TaskState {
	s := &api.TaskState{State: state, StartedAt: second(1)}
	if text != "" {
		s.Events = happenings(text)
	}
	return s
}

// line describes an event. Times of taskrun itself are omitted.
func line(e event.Event) string {
	var text string
	switch b := e.Body.(type) {
	case event.Notice:
		return "notice: " + b.Text
	case event.Deployment:
		return fmt.Sprintf("deployment %s of %s: %s, %s", b.ID, b.Job, b.Status, b.Description)
	case event.Output:
		piece := make([]byte, b.Length)
		if _, err := b.Source.ReadAt(piece, b.Offset); err != nil && !errors.Is(err, io.EOF) {
			return err.Error()
		}
		return fmt.Sprintf("%s/%s %s %q", e.Alloc.ID, e.Task, b.Stream, piece)
	case event.AllocStatus:
		text = b.Status
		if b.Replaces != "" {
			text += " in place of " + b.Replaces
		}
		if b.Status == "failed" {
			text += fmt.Sprintf(", again in %v", b.Retry)
		}
	case event.Service:
		return fmt.Sprintf("%s offers %s at %s:%d %t", e.Alloc.ID, b.Name, b.Address, b.Port, b.Registered)
	case event.Check:
		return fmt.Sprintf("%s %s/%s %s %q", e.Alloc.ID, b.Service, b.Check, b.Status, b.Output)
	case event.AllocHealth:
		text = fmt.Sprintf("healthy %t", b.Healthy)
	case event.TaskEvent:
		text = b.Type
	case event.TaskState:
		text = fmt.Sprintf("is %s", b.State)
		if b.ExitCode != nil {
			text += fmt.Sprintf(", code %d", *b.ExitCode)
		}
	}
	of := e.Alloc.ID
	if e.Alloc.Parent != "" {
		of = e.Alloc.Parent + ":" + of
	}
	if e.Task != "" {
		of += "/" + e.Task
	}
	return fmt.Sprintf("%d %s %s", e.Time.Unix(), of, text)
}

// source is anything that can be followed.
type source interface {
	Subscribe(output bool) *event.Subscription
	Follow(ctx context.Context) error
}

// watched is a run that is followed.
type watched struct {
	source
	sub   *event.Subscription
	ended chan error
}

// watch begins to follow a run.
func watch(t *testing.T, r source) *watched {
	t.Helper()
	w := &watched{source: r, sub: r.Subscribe(true), ended: make(chan error, 1)}
	go func() {
		err := r.Follow(t.Context())
		w.ended <- err
	}()
	synctest.Wait()
	return w
}

// lines returns the lines published since the last call.
func (w *watched) lines(t *testing.T) (all []string) {
	t.Helper()
	for w.sub.Ready() {
		e, ok := w.sub.Next(t.Context())
		if !ok {
			break
		}
		all = append(all, line(e))
	}
	return all
}

// end returns the error of Follow, if it has returned.
func (w *watched) end() (err error, ended bool) {
	select {
	case err := <-w.ended:
		return err, true
	default:
		return nil, false
	}
}
