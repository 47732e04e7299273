package cluster

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
)

// rollout returns a deployment of version 3 of a job on a server.
func rollout(t *testing.T, w *fakeCluster, evaluation, deployment string) *Rollout {
	t.Helper()
	return &Rollout{
		Job: &client.Job{JobListStub: &api.JobListStub{ID: "web"}, Server: w.server(t)}, Evaluation: evaluation, Deployment: deployment,
	}
}

// states returns deployments from VERSION:STATUS; d is that of version 3. A
// failure with a ! is rolled back.
func states(text string) any {
	list := []*api.Deployment{}
	for _, word := range strings.Fields(text) {
		version, status, _ := strings.Cut(word, ":")
		status, reverts := strings.CutSuffix(status, "!")
		d := &api.Deployment{
			ID: "of-" + version, JobID: "web", JobVersion: uint64(version[0] - '0'), Status: status, StatusDescription: "so it is",
			TaskGroups: map[string]*api.DeploymentState{"a": {}, "b": {AutoRevert: reverts}}, JobSpecModifyIndex: 10 * uint64(version[0]-'0'),
		}
		if version == "3" {
			d.ID = "d"
		}
		list = append(list, d)
	}
	return list
}

func evaluation(status, deployment string) map[string]any {
	return map[string]any{"evaluation/e": api.Evaluation{ID: "e", Status: status, DeploymentID: deployment, JobModifyIndex: 30}}
}

func deployments(text string) map[string]any {
	return map[string]any{"job/web/deployments": states(text)}
}

func version(v uint64) map[string]any {
	return map[string]any{"job/web": api.Job{ID: new("web"), Version: &v}}
}

// A deployment is followed from its evaluation, if that is known, until it
// ends. Other deployments of the job are ignored, except the one that rolls it
// back, which has the version registered by the failure.
func TestFollowARollout(t *testing.T) {
	t.Parallel()
	const d, next = "deployment d of web: ", "deployment of-4 of web: "
	so := func(on string, states ...string) (lines []string) {
		for _, state := range states {
			lines = append(lines, on+state+", so it is")
		}
		return lines
	}
	for name, tt := range map[string]struct {
		begun  [2]string        // IDs of evaluation and deployment
		steps  []map[string]any // successive responses of the server
		shown  []string
		goesOn bool
		err    string
	}{
		"from its evaluation": {
			begun: [2]string{"e", ""},
			steps: []map[string]any{evaluation("pending", ""), evaluation("blocked", ""), evaluation("complete", "d"), deployments("2:successful 3:running"), deployments("3:successful 2:successful")},
			shown: so(d, "running", "successful"),
		},
		"whose evaluation is blocked with it":  {begun: [2]string{"e", ""}, steps: []map[string]any{evaluation("pending", "d"), evaluation("blocked", "d"), deployments("3:failed")}, shown: so(d, "failed")},
		"that an earlier change has made":      {begun: [2]string{"e", ""}, steps: []map[string]any{evaluation("complete", "of-2"), deployments("2:cancelled")}},
		"that is known":                        {begun: [2]string{"e", "d"}, steps: []map[string]any{deployments("3:running"), deployments("3:cancelled 4:running")}, shown: so(d, "running", "cancelled")},
		"that there is not":                    {begun: [2]string{"e", ""}, steps: []map[string]any{evaluation("complete", "")}},
		"without an evaluation":                {},
		"that is paused":                       {begun: [2]string{"", "d"}, steps: []map[string]any{deployments("3:paused")}, shown: so(d, "paused"), goesOn: true},
		"that another server does not know":    {begun: [2]string{"", "d"}, steps: []map[string]any{deployments("2:successful"), deployments("2:successful 3:successful")}, shown: so(d, "successful")},
		"that fails for good":                  {begun: [2]string{"", "d"}, steps: []map[string]any{version(3), deployments("3:failed!")}, shown: so(d, "failed")},
		"that fails, and is changed by a user": {begun: [2]string{"", "d"}, steps: []map[string]any{version(4), deployments("3:failed 4:running")}, shown: so(d, "failed")},
		"that is rolled back": {
			begun: [2]string{"", "d"}, steps: []map[string]any{version(4), deployments("3:failed!"), deployments("3:failed! 4:running"), deployments("3:failed! 4:successful")},
			shown: append(so(d, "failed", "failed"), append(so(next, "running"), append(so(d, "failed"), so(next, "successful")...)...)...),
		},
		"whose evaluation is not there": {begun: [2]string{"e", ""}, steps: []map[string]any{nil}, err: `cannot follow the evaluation of job "web" of : it answered 404: not found`},
		"of a job that is not there":    {begun: [2]string{"", "d"}, steps: []map[string]any{nil}, err: `cannot follow the deployment of job "web" of : it answered 404: not found`},
		"whose job is gone":             {begun: [2]string{"", "d"}, steps: []map[string]any{deployments("3:failed!")}, shown: so(d, "failed"), err: `cannot get job "web" of : it answered 404: not found`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newFakeCluster()
				if len(tt.steps) > 0 && tt.steps[0] != nil {
					w.set(deployments(""))
					w.set(tt.steps[0])
				}
				r := watch(t, rollout(t, w, tt.begun[0], tt.begun[1]))
				for i := 1; i < len(tt.steps); i++ {
					if err, ended := r.end(); ended {
						t.Fatalf("ended before step %d: %v", i, err)
					}
					w.set(tt.steps[i])
				}
				if diff := cmp.Diff(tt.shown, r.lines(t)); diff != "" {
					t.Error(diff)
				}
				err, ended := r.end()
				if ended == tt.goesOn || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
					t.Errorf("ended: %t, %v; want %s", ended, err, tt.err)
				}
			})
		})
	}
}

// dying is an engine that dies at a query, and may come back.
type dying struct {
	http.RoundTripper
	lives int // number of queries
}

func (d *dying) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.lives--; d.lives == -1 {
		return nil, io.ErrUnexpectedEOF
	}
	return d.RoundTripper.RoundTrip(r)
}

// The rollout of an engine that dies is followed through its replacement.
// Without one the wait ends, unlike for a cluster.
func TestFollowARolloutAfterAnEngineDies(t *testing.T) {
	t.Parallel()
	for back, want := range map[bool]string{true: "", false: `cannot follow the deployment of job "web" of run web: unexpected EOF`} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeCluster()
			w.set(deployments("3:successful"))
			r := rollout(t, w, "", "d")
			c, err := api.NewClient(&api.Config{Address: "http://engine", HttpClient: &http.Client{Transport: &dying{w, 0}}})
			if err != nil {
				t.Fatal(err)
			}
			r.Job.Server = &client.Server{API: c, Socket: "/run/web.sock", Back: func(context.Context) bool { return back }}
			began := time.Now()
			err = r.Follow(t.Context())
			if (err == nil) != back || err != nil && err.Error() != want || time.Since(began) > 0 {
				t.Errorf("comes back: %t: %v after %v", back, err, time.Since(began))
			}
		})
	}
}

// A running deployment waits for canaries until all groups with canaries are
// promoted.
func TestCanarying(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status   string
		canaries int
		promoted bool
		want     bool
	}{{"running", 1, false, true}, {"running", 1, true, false}, {"running", 0, false, false}, {"failed", 1, false, false}, {"paused", 1, false, false}} {
		d := &api.Deployment{ID: "d", JobVersion: 3, Status: tt.status, TaskGroups: map[string]*api.DeploymentState{
			"a": {}, "b": {DesiredCanaries: tt.canaries, Promoted: tt.promoted},
		}}
		e := eventOf("web", d)
		if e.Canarying != tt.want || e.Job != "web" || e.Version != 3 || e.API != d {
			t.Errorf("%+v: %+v", tt, e)
		}
	}
}
