package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
)

// node is a cluster in memory that responds with texts of an output, a status
// or an error, and records requests.
type node struct {
	mu    sync.Mutex
	asked []string // value of follow for each read
	code  int
	text  string
	err   error
}

func (n *node) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, r.URL.Query().Get("follow"))
	if n.err != nil {
		return nil, n.err
	}
	body := n.text
	if n.code == http.StatusOK && body != "" {
		frame, err := json.Marshal(api.StreamFrame{File: "alloc/logs/t.stdout.0", Data: []byte(body), Offset: int64(len(body))})
		if err != nil {
			return nil, err
		}
		body = string(frame)
		n.text = ""
	}
	return &http.Response{StatusCode: n.code, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func (n *node) task(t *testing.T) *client.Task {
	t.Helper()
	c, err := api.NewClient(&api.Config{Address: "http://cluster", HttpClient: &http.Client{Transport: n}})
	if err != nil {
		t.Fatal(err)
	}
	return &client.Task{Server: &client.Server{API: c}, Alloc: &api.AllocationListStub{ID: "1"}, Name: "t"}
}

// reader returns outputs that record what they show and say.
func reader(ctx context.Context) (o *outputs, shown, said *[]string) {
	shown, said = &[]string{}, &[]string{}
	o = newOutputs(ctx)
	o.show = func(_ *output, piece []byte) { *shown = append(*shown, string(piece)) }
	o.say = func(text string) { *said = append(*said, text) }
	return o, shown, said
}

// After a read there may be more later, unless it is forbidden; a complaint is
// made once, and for a broken connection only after a while.
func TestReadings(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		node *node
		more bool
		said []int // number of complaints after each read
	}{
		"some output":       {&node{code: 200, text: "hello"}, true, []int{0, 0, 0, 0}},
		"none yet":          {&node{code: 404, text: "no such file"}, true, []int{0, 0, 0, 0}},
		"it is forbidden":   {&node{code: 403, text: "Permission denied"}, false, []int{1, 1, 1, 1}},
		"the server fails":  {&node{code: 500, text: "oops"}, true, []int{1, 1, 1, 1}},
		"it is not reached": {&node{err: errors.New("no route to host")}, true, []int{0, 0, 1, 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			o, shown, said := reader(t.Context())
			out := &output{task: tt.node.task(t), alloc: &event.Alloc{Name: "web.g[0]"}, stream: event.Stdout}
			for i, want := range tt.said {
				if more := o.read(t.Context(), out, false); more != tt.more {
					t.Errorf("%s: more %t", name, more)
				}
				if len(*said) != want {
					t.Errorf("%s: after %d readings it has said %q", name, i+1, *said)
				}
			}
			if got := strings.Join(*shown, ""); name == "some output" && got != "hello" {
				t.Errorf("%s: shown %q", name, got)
			}
			for _, s := range *said {
				if !strings.Contains(s, `cannot read stdout of task "t" of web.g[0]`) {
					t.Errorf("%s: said %q", name, s)
				}
			}
		})
	}
}

// Failures are counted from the last answer on.
func TestFailuresInARow(t *testing.T) {
	t.Parallel()
	n := &node{code: http.StatusOK}
	o, _, said := reader(t.Context())
	out := &output{task: n.task(t), alloc: &event.Alloc{}, stream: event.Stdout}
	for i := range 3 * fewFailures {
		if n.err = errors.New("no route to host"); (i+1)%fewFailures == 0 {
			n.err = nil
		}
		o.read(t.Context(), out, false)
	}
	if len(*said) > 0 {
		t.Errorf("said %q", *said)
	}
}

// Outputs with a free connection are followed, one connection each; the others
// are read in rounds.
func TestStreamsAndRounds(t *testing.T) {
	t.Parallel()
	for streams, want := range map[int]string{1: "true", 0: "false"} {
		synctest.Test(t, func(t *testing.T) {
			n := &node{code: http.StatusOK}
			o, _, _ := reader(t.Context())
			o.streams, o.readers = make(chan struct{}, streams), make(chan struct{}, 1)
			o.begin(n.task(t), &event.Alloc{ID: "1"}, client.Position{}, event.Stdout)
			<-time.After(20 * roundTime)
			o.close()
			if len(n.asked) < 3 || slices.ContainsFunc(n.asked, func(follow string) bool { return follow != want }) {
				t.Errorf("%d streams: asked to follow: %v", streams, n.asked)
			}
			if len(o.streams)+len(o.readers) > 0 {
				t.Errorf("%d streams: %d places are taken at the end", streams, len(o.streams)+len(o.readers))
			}
		})
	}
}

// The output of a dead task is read to its end, and no further.
func TestRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &node{code: http.StatusOK}
		o, shown, _ := reader(t.Context())
		o.begin(n.task(t), &event.Alloc{ID: "1"}, client.Position{}, event.Stdout)
		o.begin(n.task(t), &event.Alloc{ID: "1"}, client.Position{}, event.Stdout) // once only
		synctest.Wait()
		if len(o.all) != 1 || len(n.asked) != 1 {
			t.Errorf("%d outputs, asked %d times", len(o.all), len(n.asked))
		}
		n.mu.Lock()
		n.text = "bye"
		n.mu.Unlock()
		o.rest("1", "t")
		if got := strings.Join(*shown, ""); got != "bye" {
			t.Errorf("shown %q", got)
		}
		asked := len(n.asked)
		<-time.After(time.Minute)
		if len(n.asked) != asked {
			t.Error("it is read on")
		}
		o.rest("1", "t")
		o.rest("2", "t")
		if len(n.asked) != asked {
			t.Error("it is read again")
		}
		o.close()
	})
}

// jobs is a cluster that knows a job and its children.
type jobs struct{ allocations, children any }

func (j jobs) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, code := j.children, http.StatusOK
	if strings.HasSuffix(r.URL.Path, "/allocations") {
		answer = j.allocations
	}
	if answer == nil {
		code = http.StatusInternalServerError
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	header := http.Header{"X-Nomad-Index": {"7"}}
	return &http.Response{
		StatusCode: code, Header: header, ContentLength: int64(len(text)), Body: io.NopCloser(strings.NewReader(string(text))), Request: r,
	}, nil
}

// Ended allocations and jobs are ignored, running ones are not; a failed query
// is an error.
func TestLeaveOutEnded(t *testing.T) {
	t.Parallel()
	allocations := []*api.AllocationListStub{{ID: "1", ClientStatus: "complete"}, {ID: "2", ClientStatus: "running"}, {ID: "3", ClientStatus: "failed"}}
	children := []*api.JobListStub{{ID: "web/dispatch-1", ParentID: "web", Status: "dead"}, {ID: "web/dispatch-2", ParentID: "web", Status: "running"}}
	for name, tt := range map[string]struct {
		jobs     jobs
		launches bool
		ok       bool
		over     int
	}{
		"a job":                     {jobs{allocations, nil}, false, true, 2},
		"one that others run for":   {jobs{allocations, children}, true, true, 3},
		"allocations are not known": {jobs{nil, children}, true, false, 0},
		"children are not known":    {jobs{allocations, nil}, true, false, 2},
	} {
		c, err := api.NewClient(&api.Config{Address: "http://cluster", HttpClient: &http.Client{Transport: tt.jobs}})
		if err != nil {
			t.Fatal(err)
		}
		j := Job{Job: &api.Job{ID: new("web")}, Server: &client.Server{API: c}, Over: map[string]bool{}}
		if tt.launches {
			j.ParameterizedJob = &api.ParameterizedJobConfig{}
		}
		if err := j.LeaveOutEnded(t.Context()); (err == nil) != tt.ok {
			t.Errorf("%s: error %v", name, err)
		}
		over := 0
		for _, ended := range j.Over {
			if ended {
				over++
			}
		}
		if over != tt.over || tt.over > 0 && (!j.Over["1"] || j.Over["2"] || !j.Over["3"]) {
			t.Errorf("%s: left out are %v", name, j.Over)
		}
	}
}

// A message of a run is an event of the run.
func TestSay(t *testing.T) {
	t.Parallel()
	r := New(nil)
	sub := r.bus.Subscribe(false)
	r.say("hello")
	e, ok := sub.Next(t.Context())
	if notice, is := e.Body.(event.Notice); !ok || !is || notice.Text != "hello" {
		t.Errorf("%+v", e)
	}
	sub.Close()
}
