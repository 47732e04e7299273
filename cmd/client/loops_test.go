package client

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

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
