package fold

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// Each failing check appears once, with every allocation in which it fails.
func TestFailingChecks(t *testing.T) {
	t.Parallel()
	r := New([]*api.Job{job(task("a", "", false))})
	alloc := func(id int) *event.Alloc {
		return &event.Alloc{Job: "j", Group: "g", Name: fmt.Sprintf("j.g[%d]", id), ID: fmt.Sprint(id)}
	}
	deployment := func(status string) { r.Apply(event.Event{Body: event.Deployment{Job: "j", ID: "d", Status: status}}) }
	check := func(what string, want ...string) {
		t.Helper()
		var got []string
		for _, f := range r.FailingChecks() {
			line := f.Service + "/" + f.Check.Check
			for _, a := range f.Allocs {
				line += " " + a.ID
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	for id := range 4 {
		r.Apply(event.Event{Alloc: alloc(id), Body: event.AllocStatus{Status: "running", Retry: -1}})
		for name, status := range map[string]string{"up": "success", "ready": "failure"} {
			r.Apply(event.Event{Alloc: alloc(id), Body: event.Check{Service: "web", Check: name, Status: status}})
		}
	}
	r.Apply(event.Event{Alloc: alloc(2), Body: event.Check{Service: "web", Check: "ready", Status: "success"}})
	r.Apply(event.Event{Alloc: alloc(3), Body: event.Check{Service: "db", Check: "ready", Status: "pending"}})
	check("without a deployment")
	deployment(api.DeploymentStatusRunning)
	check("a deployment waits", "web/ready 0 1 3", "db/ready 3")
	r.Apply(event.Event{Alloc: alloc(1), Body: event.AllocHealth{Healthy: true}})
	r.Apply(event.Event{Alloc: alloc(0), Body: event.AllocHealth{Healthy: false}})
	check("one was healthy, one never will be", "web/ready 0 3", "db/ready 3")
	deployment(api.DeploymentStatusFailed)
	check("the deployment has failed", "web/ready 0 3", "db/ready 3")
	deployment(api.DeploymentStatusSuccessful)
	check("the deployment was successful")
}

// An allocation waits for its replacement from its end until there is one.
func TestAwaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		alloc Alloc
		want  bool
	}{
		"it runs":                  {Alloc{Status: api.AllocClientStatusRunning}, false},
		"it is to be replaced":     {Alloc{Status: api.AllocClientStatusFailed}, true},
		"later":                    {Alloc{Status: api.AllocClientStatusComplete, Retry: 5}, true},
		"it was the last attempt":  {Alloc{Status: api.AllocClientStatusFailed, Retry: -1}, false},
		"it has been replaced":     {Alloc{Status: api.AllocClientStatusFailed, Replacement: &Alloc{}}, false},
		"it is lost to the engine": {Alloc{Status: api.AllocClientStatusLost}, false},
	} {
		if got := c.alloc.Awaits(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// An allocation is forsaken if it was to be replaced, and then is not.
func TestForsaken(t *testing.T) {
	t.Parallel()
	failed := func(retry time.Duration) event.AllocStatus { return event.AllocStatus{Status: "failed", Retry: retry} }
	for name, tt := range map[string]struct {
		seen []event.AllocStatus
		want bool
	}{
		"it is not replaced after all":  {[]event.AllocStatus{failed(time.Second), failed(-1)}, true},
		"it was to be replaced at once": {[]event.AllocStatus{failed(0), failed(-1)}, true},
		"it never was to be":            {[]event.AllocStatus{failed(-1), failed(-1)}, false},
		"it still is to be":             {[]event.AllocStatus{failed(time.Second), failed(0)}, false},
		"it runs":                       {[]event.AllocStatus{failed(time.Second), {Status: "running", Retry: -1}}, false},
		"it fails for the first time":   {[]event.AllocStatus{{Status: "running"}, failed(-1)}, false},
	} {
		r, a := New([]*api.Job{job(task("a", "", false))}), &event.Alloc{Job: "j", Group: "g", Name: "j.g[0]", ID: "1"}
		for _, s := range tt.seen {
			r.Apply(event.Event{Alloc: a, Body: s})
		}
		if got := r.Alloc(a).Forsaken; got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
