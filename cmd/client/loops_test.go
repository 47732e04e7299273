package client

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
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
			s.FollowTasks(ctx, "", func(all []*Task) { seen(len(all)) })
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

// Announcements of output are passed on, other frames are not.
func TestFollowOutputs(t *testing.T) {
	t.Parallel()
	const path = "/v1/client/fs/outputs"
	n := &nomad{code: http.StatusForbidden, answers: map[string][]any{path: {text(`{}{"File":"1/a.b.stderr","FileEvent":"new file"}` +
		`{"File":"1/t.stdout"}{"File":"1/t.other"}{"File":"2/t.stdout","Data":"YQ==","FileEvent":"some is missing"}{`)}}}
	s := n.server(t, "/run/web.sock")
	began := 0
	var heard []Grown
	s.FollowOutputs(t.Context(), "1", func() { began++ }, func(g Grown) { heard = append(heard, g) })
	want := []Grown{
		{Alloc: "1", Task: "a.b", Stream: event.Stderr, NewFile: true},
		{Alloc: "1", Task: "t", Stream: event.Stdout},
		{Alloc: "2", Task: "t", Stream: event.Stdout, Data: []byte("a"), Missing: "some is missing"},
	}
	if diff := cmp.Diff(want, heard); diff != "" || began != 1 {
		t.Errorf("began %d times; %s", began, diff)
	}
	if want := []string{"GET " + path + "?alloc=1"}; !cmp.Equal(n.asked, want) {
		t.Errorf("asked %q, want %q", n.asked, want)
	}
	delete(n.answers, path)
	s.FollowOutputs(t.Context(), "", func() { t.Error("an engine that refuses has begun") }, nil)
}
