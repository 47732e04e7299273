package cluster

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// Changes of services and checks are published on request.
func TestInspect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCluster()
		w.set(map[string]any{"job/web": with("running"), "job/web/allocations": stubs(stub("1", "running", 100, nil)), "job/web/evaluations": evals()})
		server := w.server(t)
		run := New([]Job{{Job: job("service"), Server: server}})
		r := watch(t, run)
		r.lines(t)
		offer := func(alloc string, port int) *api.ServiceRegistration {
			return &api.ServiceRegistration{ID: "s" + alloc, ServiceName: "web", AllocID: alloc, Address: "10.0.0.1", Port: port}
		}
		check := func(name, status string) api.AllocCheckStatus {
			return api.AllocCheckStatus{ID: name, Service: "web", Check: name, Status: status, Output: "so it is"}
		}
		checks := func(alloc string, found ...api.AllocCheckStatus) map[string]any {
			all := api.AllocCheckStatuses{}
			for _, c := range found {
				all[c.ID] = c
			}
			return map[string]any{"client/allocation/" + alloc + "/checks": all}
		}
		allocs := []*event.Alloc{{Job: "web", ID: "1"}, {Job: "web", ID: "2"}, {Job: "web", ID: "3"}}
		for _, step := range []struct {
			what    string
			answers map[string]any
			refused string
			some    bool
			want    []string
		}{
			{what: "no services", answers: map[string]any{"job/web/services": []*api.ServiceRegistration{}}},
			{
				what: "services", answers: map[string]any{"job/web/services": []*api.ServiceRegistration{offer("1", 80), offer("3", 81), offer("other", 82)}}, some: true,
				want: []string{"1 offers web at 10.0.0.1:80 true", "3 offers web at 10.0.0.1:81 true"},
			},
			{what: "checks", answers: checks("1", check("b", "pending"), check("a", "success")), some: true, want: []string{`1 web/a success "so it is"`, `1 web/b pending "so it is"`}},
			{what: "nothing new", some: true},
			{what: "one result", answers: checks("1", check("b", "failure"), check("a", "success")), some: true, want: []string{`1 web/b failure "so it is"`}},
			{what: "checks are refused", refused: "client/allocation/1/checks", some: true},
			{what: "services are refused", refused: "job/web/services"},
			{
				what: "another port, and one is gone", answers: map[string]any{"job/web/services": []*api.ServiceRegistration{offer("1", 90)}}, some: true,
				want: []string{"1 offers web at 10.0.0.1:90 true", "3 offers web at 10.0.0.1:81 false"},
			},
			{what: "nothing new again", some: true},
		} {
			w.set(step.answers)
			w.refused = map[string]int{"/v1/" + step.refused: http.StatusForbidden}
			if some := run.Inspect(t.Context(), server, allocs); some != step.some {
				t.Errorf("%s: some %t", step.what, some)
			}
			synctest.Wait()
			if diff := cmp.Diff(step.want, r.lines(t)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step.what, diff)
			}
			w.refused = map[string]int{}
		}
		if slices.Contains(w.asked, "/v1/client/allocation/2/checks") {
			t.Error("asked for checks of an allocation without services")
		}
	})
}
