package client

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

// A deployment is followed from the evaluation that begins it to its end, by
// blocking queries.
func TestFollowADeployment(t *testing.T) {
	t.Parallel()
	const asksEval, asksDeployment = "GET /v1/evaluation/e?", "GET /v1/deployment/d?"
	const first, second, third = "namespace=shop&wait=60000ms", "index=7&namespace=shop&wait=60000ms", "index=8&namespace=shop&wait=60000ms"
	eval := func(status, deployment string) any {
		return api.Evaluation{ID: "e", Status: status, DeploymentID: deployment}
	}
	states := func(all ...string) (list []any) {
		for _, status := range all {
			list = append(list, api.Deployment{ID: "d", Status: status})
		}
		return list
	}
	full := errors.New("full")
	for name, tt := range map[string]struct {
		begun       Begun
		evaluations []any // nil: they are refused
		deployments []any // nil: they are refused
		showError   error
		asks        []string
		shown       string
		ends        string // the last state; empty: there is none
		err         string
	}{
		"from its evaluation": {
			Begun{Evaluation: "e"},
			[]any{eval("pending", ""), eval("blocked", ""), eval("complete", "d")},
			states("running", "running", "successful"), nil,
			[]string{asksEval + first, asksEval + second, asksEval + third, asksDeployment + first, asksDeployment + second, asksDeployment + third},
			"running running successful", "successful", "",
		},
		"whose evaluation is pending with it":           {Begun{Evaluation: "e"}, []any{eval("pending", "d"), eval("blocked", "d")}, states("failed"), nil, []string{asksEval + first, asksEval + second, asksDeployment + first}, "failed", "failed", ""},
		"that is known":                                 {Begun{Evaluation: "e", Deployment: "d"}, nil, states("running", "cancelled"), nil, []string{asksDeployment + first, asksDeployment + second}, "running cancelled", "cancelled", ""},
		"that there is not":                             {Begun{Evaluation: "e"}, []any{eval("complete", "")}, nil, nil, []string{asksEval + first}, "", "", ""},
		"without an evaluation":                         {Begun{}, nil, nil, nil, nil, "", "", ""},
		"that cannot be shown":                          {Begun{Deployment: "d"}, nil, states("running"), full, []string{asksDeployment + first}, "running", "", "full"},
		"whose evaluation is refused":                   {Begun{Evaluation: "e"}, nil, nil, nil, []string{asksEval + first}, "", "", `cannot follow the evaluation of job "web" of http://nomad: it answered 403: no`},
		"that is refused":                               {Begun{Deployment: "d"}, nil, nil, nil, []string{asksDeployment + first}, "", "", `cannot follow the deployment of job "web" of http://nomad: it answered 403: no`},
		"that does not end before the context is ended": {Begun{Deployment: "d"}, nil, states("running"), nil, []string{asksDeployment + first, asksDeployment + second}, "running", "", `cannot follow the deployment of job "web" of http://nomad: context deadline exceeded`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := &nomad{code: http.StatusForbidden, answers: map[string][]any{}}
				if tt.evaluations != nil {
					n.answers["/v1/evaluation/e"] = tt.evaluations
				}
				if tt.deployments != nil {
					n.answers["/v1/deployment/d"] = tt.deployments
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				var shown []string
				d, err := onJob(n.server(t, "")).Follow(ctx, tt.begun, func(d *api.Deployment) error {
					shown = append(shown, d.Status)
					return tt.showError
				})
				if ends := d != nil; ends != (tt.ends != "") || ends && d.Status != tt.ends {
					t.Errorf("it ends as %+v", d)
				}
				if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
					t.Errorf("error %v, want %s", err, tt.err)
				}
				if got := strings.Join(shown, " "); got != tt.shown {
					t.Errorf("shown %q, want %q", got, tt.shown)
				}
				for i, line := range n.asked { // what Nomad's client adds
					n.asked[i] = strings.Replace(line, "related=true&", "", 1)
				}
				if diff := cmp.Diff(tt.asks, n.asked); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// An engine in the place of one that died is asked for the deployment as it is
// now, for it may count changes otherwise.
func TestFollowADeploymentOfAnEngineThatDies(t *testing.T) {
	t.Parallel()
	n := &nomad{dies: 2, answers: map[string][]any{"/v1/deployment/d": {api.Deployment{Status: "running"}, api.Deployment{Status: "failed"}}}}
	s := n.server(t, "/run/web.sock")
	s.Back = func(context.Context) bool { return true }
	d, err := onJob(s).Follow(t.Context(), Begun{Deployment: "d"}, func(*api.Deployment) error { return nil })
	if err != nil || d == nil || d.Status != "failed" {
		t.Errorf("%+v, %v", d, err)
	}
	const asks = "GET /v1/deployment/d?"
	want := []string{asks + "namespace=shop&wait=60000ms", asks + "index=7&namespace=shop&wait=60000ms", asks + "namespace=shop&wait=60000ms"}
	if diff := cmp.Diff(want, n.asked); diff != "" {
		t.Error(diff)
	}
}

// Behind a deployment that is rolled back comes the one of a later version.
func TestNextDeployment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const path = "/v1/job/web/deployment"
		version := func(v uint64) any { return api.Deployment{JobVersion: v} }
		n := &nomad{code: http.StatusForbidden, answers: map[string][]any{path: {version(3), nil, version(2), version(4)}}}
		j := onJob(n.server(t, ""))
		failed := &api.Deployment{JobVersion: 3, StatusDescription: "Failed due to unhealthy allocations"}
		if d, err := j.Next(t.Context(), failed); d != nil || err != nil || n.asked != nil {
			t.Errorf("of one that is not rolled back: %+v, %v", d, err)
		}
		failed.StatusDescription += " - rolling back to job version 1"
		if d, err := j.Next(t.Context(), failed); err != nil || d == nil || d.JobVersion != 4 {
			t.Errorf("next is %+v, %v", d, err)
		}
		rest := path + "?namespace=shop&wait=60000ms"
		if want := []string{
			"GET " + rest, "GET " + strings.Replace(rest, "?", "?index=7&", 1),
			"GET " + strings.Replace(rest, "?", "?index=8&", 1), "GET " + strings.Replace(rest, "?", "?index=9&", 1),
		}; !cmp.Equal(n.asked, want) {
			t.Error(cmp.Diff(want, n.asked))
		}
		delete(n.answers, path)
		if _, err := j.Next(t.Context(), failed); err == nil || !strings.HasPrefix(err.Error(), `cannot follow the deployment of job "web" of`) {
			t.Errorf("error %v", err)
		}
	})
}

// Jobs have ended while others go on once all of them are dead, or gone, and
// another is not.
func TestAwaitEnd(t *testing.T) {
	t.Parallel()
	list := func(text string) any {
		stubs := []api.JobListStub{}
		for _, word := range strings.Fields(text) {
			id, status, _ := strings.Cut(word, ":")
			stubs = append(stubs, api.JobListStub{ID: id, Status: status})
		}
		return stubs
	}
	for name, tt := range map[string]struct {
		lists []any
		asks  int
		want  bool
	}{
		"at once":               {[]any{list("a:dead b:dead c:running")}, 1, true},
		"one after the other":   {[]any{list("a:running b:running c:running"), list("a:dead b:running c:running"), list("a:dead b:dead c:pending d:dead")}, 3, true},
		"the first one is last": {[]any{list("a:running b:dead c:running"), list("a:dead b:dead c:running")}, 2, true},
		"they are gone":         {[]any{list("c:running")}, 1, true},
		"no other goes on":      {[]any{list("a:dead b:dead c:dead")}, 2, false},
		"there is no other":     {[]any{list("a:dead b:dead")}, 2, false},
		"the engine is gone":    {nil, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := &nomad{answers: map[string][]any{"/v1/jobs": tt.lists}}
				if got := n.server(t, "/run/web.sock").AwaitEnd(t.Context(), []string{"a", "b"}); got != tt.want {
					t.Errorf("ended %t", got)
				}
				asks := []string{"GET /v1/jobs?namespace=ops&wait=1000ms", "GET /v1/jobs?index=7&namespace=ops&wait=1000ms", "GET /v1/jobs?index=8&namespace=ops&wait=1000ms"}
				if diff := cmp.Diff(asks[:tt.asks], n.asked); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Each change of the allocations or of a deployment is told of, one after
// another, until the context ends or one of them is not answered.
func TestChanges(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]string{
		"until the context ends": "", "until allocations are refused": "/v1/allocations", "until a deployment is refused": "/v1/job/a/deployment",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := &nomad{code: http.StatusForbidden, answers: map[string][]any{
					"/v1/allocations":      {[]any{}, []any{}, []any{}},
					"/v1/job/a/deployment": {api.Deployment{}}, "/v1/job/b/deployment": {api.Deployment{}, nil},
				}}
				delete(n.answers, refused)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began, calls, now := time.Now(), 0, 0
				n.server(t, "/run/web.sock").Changes(ctx, []string{"a", "b"}, func() {
					if now++; now > 1 {
						t.Error("two changes are told of at once")
					}
					runtime.Gosched()
					now--
					calls++
				})
				took := time.Since(began)
				if refused == "" && (calls != 6 || took != time.Hour) {
					t.Errorf("%d changes in %v", calls, took)
				}
				if refused != "" && took > time.Minute {
					t.Errorf("it took %v to notice that %s is refused", took, refused)
				}
				asks := map[string]int{}
				for _, line := range n.asked {
					asks[line]++
				}
				if refused == "" && (len(asks) != 9 || asks["GET /v1/allocations?wait=300000ms"] != 1 || asks["GET /v1/allocations?index=9&wait=300000ms"] != 1) {
					t.Errorf("asked %v", asks)
				}
			})
		})
	}
}

// What is watched is asked for again with the index of the last answer.
func TestWatchAsksForChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &nomad{answers: map[string][]any{"/v1/allocations": {[]any{}, []any{}}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		seen, began := 0, time.Now()
		n.server(t, "/run/web.sock").Watch(ctx, func([]*Task) { seen++ })
		if took := time.Since(began); seen != 2 || took != time.Hour {
			t.Errorf("seen %d times in %v", seen, took)
		}
		const path = "GET /v1/allocations?"
		if diff := cmp.Diff([]string{path + "wait=300000ms", path + "index=7&wait=300000ms", path + "index=8&wait=300000ms"}, n.asked); diff != "" {
			t.Error(diff)
		}
	})
}

// What an engine says of output that was written is handed on, and signs of
// life are not.
func TestHear(t *testing.T) {
	t.Parallel()
	const path = "/v1/client/fs/logs/1"
	n := &nomad{code: http.StatusForbidden, answers: map[string][]any{path: {text(`{}{"FileEvent":"file written"}{"Data":"YQ=="}{"Data":"Yg==","FileEvent":"some is missing"}{`)}}}
	task := onTask(n.server(t, "/run/web.sock"))
	var heard []string
	hear := func(output []byte, missing string) { heard = append(heard, string(output)+"|"+missing) }
	task.Hear(t.Context(), "stderr", hear)
	if want := []string{"|", "a|", "b|some is missing"}; !cmp.Equal(heard, want) {
		t.Errorf("heard %q, want %q", heard, want)
	}
	if want := []string{"GET " + path + "?follow=true&silent=true&task=t&type=stderr"}; !cmp.Equal(n.asked, want) {
		t.Errorf("asked %q, want %q", n.asked, want)
	}
	delete(n.answers, path)
	task.Hear(t.Context(), "stderr", func([]byte, string) { t.Error("something is heard of an engine that refuses") })
}
