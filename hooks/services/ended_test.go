package services_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/service"
	"taskrun/hooks"
	"taskrun/hooks/services/check"
)

// No command is run in a task that has ended, although checks of the group
// continue.
func TestChecksInATaskThatEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := script("c", nil)
		c.TaskName = "t"
		f := newFixture(t, []*api.Service{{Name: "web", PortLabel: "http", Checks: []api.ServiceCheck{c}}}, nil)
		f.prerun()
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		f.after(time.Second)
		status := func() *api.AllocCheckStatus {
			all := f.catalog.Checks("alloc")
			s := all[firstKey(all)]
			return &s
		}
		if s := status(); s.Status != check.Success {
			t.Errorf("while it runs it is %s: %s", s.Status, s.Output)
		}
		f.exited()
		f.after(10 * time.Second)
		if s := status(); s.Status != check.Failure || !strings.Contains(s.Output, `no command can be run in task "t"`) {
			t.Errorf("when it has ended it is %s: %s", s.Status, s.Output)
		}
		f.end()
	})
}

// Nothing is registered for an allocation that has ended, whatever orders its tasks
// get.
func TestNothingAfterTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, []*api.Service{{Name: "group", PortLabel: "http"}}, []*api.Service{{Name: "task", PortLabel: "http"}})
		f.prerun()
		f.end()
		if err := f.start(); err != nil {
			t.Error(err)
		}
		if got := f.names(); got != "" {
			t.Errorf("registered are %q", got)
		}
		f.exited()
		if n := len(f.catalog.Services(service.All)); n != 0 {
			t.Errorf("%d services are left", n)
		}
	})
}

// A task that stops, is killed, or is left to another engine takes its services
// back, and its checks end.
func TestWithdrawals(t *testing.T) {
	t.Parallel()
	for name, withdraw := range map[string]func(*testing.T, hooks.TaskHook){
		"prekill": func(t *testing.T, h hooks.TaskHook) {
			if err := h.(hooks.TaskPrekill).Prekill(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"stop": func(t *testing.T, h hooks.TaskHook) {
			if err := h.(hooks.TaskStop).Stop(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"shutdown": func(_ *testing.T, h hooks.TaskHook) { h.(hooks.TaskShutdown).Shutdown() },
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, nil, []*api.Service{{Name: "task", PortLabel: "http", Checks: []api.ServiceCheck{script("c", nil)}}})
			f.prerun()
			if err := f.start(); err != nil {
				t.Fatal(err)
			}
			f.after(time.Second)
			withdraw(t, f.task)
			if got := f.names(); got != "" {
				t.Errorf("%s: registered are %q", name, got)
			}
			before := f.catalog.Checks("alloc")
			f.exitWith(1)
			f.after(time.Minute)
			after := f.catalog.Checks("alloc")
			if before[firstKey(before)].Timestamp != after[firstKey(after)].Timestamp {
				t.Errorf("%s: the check goes on", name)
			}
			f.end()
		})
	}
}
