package client

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

// A followed query is repeated with the index of the last answer, and at least
// once per interval.
func TestFollowWaitsForChanges(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		watch      func(ctx context.Context, s *Server, seen func(n int))
		path, wait string
	}{
		"tasks": {func(ctx context.Context, s *Server, seen func(n int)) {
			s.FollowTasks(ctx, func(all []*Task) { seen(len(all)) })
		}, "/v1/allocations", "namespace=ops&wait=300000ms"},
		"jobs": {func(ctx context.Context, s *Server, seen func(n int)) {
			s.FollowJobs(ctx, 0, func(all []*api.JobListStub) { seen(len(all)) })
		}, "/v1/jobs", "namespace=ops&wait=300000ms"},
		"jobs, often": {func(ctx context.Context, s *Server, seen func(n int)) {
			s.FollowJobs(ctx, time.Second, func(all []*api.JobListStub) { seen(len(all)) })
		}, "/v1/jobs", "namespace=ops&wait=1000ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				one := map[string]string{"ID": "1", "Name": "web.g[0]"}
				n := &nomad{answers: map[string][]any{tt.path: {[]any{}, []any{one}}}}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				var seen []int
				began := time.Now()
				tt.watch(ctx, n.server(t, "/run/web.sock"), func(n int) { seen = append(seen, n) })
				if took := time.Since(began); !cmp.Equal(seen, []int{0, 1}) || took != time.Hour {
					t.Errorf("seen %v in %v", seen, took)
				}
				asks := "GET " + tt.path + "?"
				if diff := cmp.Diff([]string{asks + tt.wait, asks + "index=7&" + tt.wait, asks + "index=8&" + tt.wait}, n.asked); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Announcements of output are passed on, signs of life are not.
func TestFollowOutput(t *testing.T) {
	t.Parallel()
	const path = "/v1/client/fs/logs/1"
	n := &nomad{code: http.StatusForbidden, answers: map[string][]any{path: {text(`{}{"FileEvent":"file written"}{"Data":"YQ=="}{"Data":"Yg==","FileEvent":"some is missing"}{`)}}}
	task := onTask(n.server(t, "/run/web.sock"))
	var heard []string
	hear := func(output []byte, missing string) { heard = append(heard, string(output)+"|"+missing) }
	task.FollowOutput(t.Context(), "stderr", hear)
	if want := []string{"|", "a|", "b|some is missing"}; !cmp.Equal(heard, want) {
		t.Errorf("heard %q, want %q", heard, want)
	}
	if want := []string{"GET " + path + "?follow=true&namespace=shop&silent=true&task=t&type=stderr"}; !cmp.Equal(n.asked, want) {
		t.Errorf("asked %q, want %q", n.asked, want)
	}
	delete(n.answers, path)
	task.FollowOutput(t.Context(), "stderr", func([]byte, string) { t.Error("something is heard of an engine that refuses") })
}
