package cmd

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/cluster"
	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// emptyCluster has no jobs.
type emptyCluster struct{}

func (emptyCluster) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"X-Nomad-Index": {"1"}}, ContentLength: -1, Request: r}
	body := "[]"
	if r.URL.Path == "/v1/job/web" {
		answer.StatusCode, body = http.StatusNotFound, "job not found"
	}
	answer.Body = io.NopCloser(strings.NewReader(body))
	return answer, nil
}

// lateBrokenOut is a stdout that is closed before the summary.
type lateBrokenOut struct{}

func (lateBrokenOut) Write(text []byte) (int, error) {
	if strings.Contains(string(text), `"type":"summary"`) {
		return 0, syscall.EPIPE
	}
	return len(text), nil
}

// A summary that cannot be written is an error, like any other output.
func TestSummaryOfAClusterOnABrokenStdout(t *testing.T) {
	t.Parallel()
	c, err := api.NewClient(&api.Config{Address: "http://cluster", HttpClient: &http.Client{Transport: emptyCluster{}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, broken := range []bool{false, true} {
		streams, out, _ := ui.Test()
		if broken {
			streams.Out = lateBrokenOut{}
		}
		job := api.NewBatchJob("web", "web", "global", 50)
		job.Canonicalize()
		server := &client.Server{API: c}
		r := &clusterRun{
			a:    newApp(&console.Console{Streams: streams, Signals: func() (<-chan os.Signal, func()) { return nil, func() {} }}, nil),
			run:  cluster.New([]cluster.Job{{Job: job, Server: server}}),
			jobs: []clusterJob{{job: job, server: server}},
		}
		err := r.show(t.Context(), nil, verdict.Policy{}, view.Options{Mode: ui.JSON})
		switch {
		case broken && !errors.Is(err, syscall.EPIPE):
			t.Errorf("stdout is broken: error %v", err)
		case !broken && (exit.Code(err) != 0 || !strings.Contains(out.String(), `"type":"summary"`)):
			t.Errorf("error %v, shown %q", err, out)
		}
	}
}

// A registration does not begin with the state of an earlier version's deployment,
// which would never change.
func TestReplacedDeployment(t *testing.T) {
	t.Parallel()
	j := &api.Job{ID: new("web"), Version: new(uint64(2))}
	for _, c := range []struct {
		body event.Body
		want bool
	}{
		{event.Deployment{Job: "web", Version: 1}, true},
		{event.Deployment{Job: "web", Version: 2}, false},
		{event.Deployment{Job: "db", Version: 1}, false},
		{event.Notice{}, false},
	} {
		if got := replaced(event.Event{Body: c.body}, j); got != c.want {
			t.Errorf("%+v: replaced %t", c.body, got)
		}
	}
}
