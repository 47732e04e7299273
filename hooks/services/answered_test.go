package services_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/hooks/services"
	"taskrun/hooks/services/check"
)

// A function answers at the times of the probes, and its answer restarts the task.
func TestAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := script("c", &api.CheckRestart{Limit: 2, Grace: new(time.Duration(0))})
		var asked []time.Duration
		answer := func(alloc *event.Alloc, since time.Duration, c *check.Check) check.Result {
			asked = append(asked, since)
			switch {
			case alloc.ID != "alloc" || c.Name != "c":
				t.Errorf("asked for check %q of %q", c.Name, alloc.ID)
			case since >= 20*time.Second:
				return check.Result{Status: check.Failure, Output: "no"}
			}
			return check.Result{Status: check.Success, Output: "yes"}
		}
		f := newFixtureOf(t, services.Config{Answer: answer},
			nil, []*api.Service{{Name: "web", Checks: []api.ServiceCheck{c}}})
		f.prerun()
		f.after(time.Second) // the allocation begins before its task
		f.exitWith(2)        // no command is run
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		f.after(25 * time.Second)
		f.expectPasses(false, true, false)
		if len(f.restarts) != 0 {
			t.Error("it was restarted after one failure")
		}
		f.after(10 * time.Second)
		if len(f.restarts) != 1 {
			t.Errorf("it was restarted %d times", len(f.restarts))
		}
		f.end()
		if want := []time.Duration{1e9, 11e9, 21e9, 31e9}; !slices.Equal(asked, want) {
			t.Errorf("asked at %v, want %v", asked, want)
		}
	})
}
