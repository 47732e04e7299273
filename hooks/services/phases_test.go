package services_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks"
	"taskrun/hooks/services"
	"taskrun/hooks/services/check"
)

// The hooks have the names of those of Nomad's client.
func TestNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil, nil)
		if a, task := f.alloc.Name(), f.task.Name(); a != "group_services" || task != "services" {
			t.Errorf("they are %q and %q", a, task)
		}
	})
}

// The services of a group go before its tasks are restarted together, and come
// again with the first that has started; when the engine leaves they go for
// good.
func TestRestartOfTheGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, []*api.Service{{Name: "group"}}, []*api.Service{{Name: "task"}})
		f.prerun()
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		f.expectNames("group task")
		f.alloc.(hooks.AllocPreTaskRestart).PreTaskRestart(t.Context())
		f.expectNames("task")
		if err := f.task.(hooks.TaskPrekill).Prekill(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.expectNames("")
		f.exited()
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		f.expectNames("group task")
		f.alloc.(hooks.AllocShutdown).Shutdown()
		f.expectNames("task")
		f.task.(hooks.TaskShutdown).Shutdown()
		f.expectNames("")
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		f.expectNames("task") // the group is ending
		if err := f.task.(hooks.TaskStop).Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.end()
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		f.expectNames("") // the allocation is forgotten
	})
}

// Checks that are not probed pass when their task has started.
func TestUnprobed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureOf(t, services.Config{Unprobed: true}, nil, []*api.Service{{Name: "web", Checks: []api.ServiceCheck{script("c", nil)}}})
		f.prerun()
		f.exitWith(2)
		f.expectPasses(false)
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		f.expectPasses(false, true)
		f.after(time.Minute)
		f.expectPasses(false, true)
		for _, s := range f.catalog.Checks("alloc") {
			if s.Status != check.Success || s.Output != "not probed" {
				t.Errorf("the check says %+v", s)
			}
		}
		f.end()
	})
}

// A new version whose services have no address is an error, and none is left.
func TestUpdateToWhatHasNoAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, []*api.Service{{Name: "group"}}, []*api.Service{{Name: "task"}})
		f.prerun()
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		bad := []*api.Service{{Name: "bad", PortLabel: "none"}}
		spec := &api.Task{Name: "t", Services: bad}
		g := &api.TaskGroup{Name: new("g"), Services: bad, Tasks: []*api.Task{spec}}
		if err := f.alloc.(hooks.AllocUpdate).Update(t.Context(), nil, g); err == nil {
			t.Error("the group's services have an address")
		}
		if err := f.task.(hooks.TaskUpdate).Update(t.Context(), &hooks.UpdateRequest{Task: spec}); err == nil {
			t.Error("the task's services have an address")
		}
		f.expectNames("")
		f.end()
	})
}

// A check that fails restarts its task again and again where there is no grace,
// but one restart after the other, and at most one in a second. Where warnings
// are ignored a warning restarts nothing.
func TestRestartsWithoutGrace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		code           int
		ignore, quick  bool
		fewest, atMost int // restarts in half a minute
	}{
		"failures that are not ignored": {2, true, false, 1, 1},
		"warnings":                      {1, false, false, 1, 1},
		"ignored warnings":              {1, true, false, 0, 0},
		"quick restarts":                {2, false, true, 30, 31 + 4}, // one a second, and at most one more for each run of the check
	} {
		synctest.Test(t, func(t *testing.T) {
			c := script("c", &api.CheckRestart{Limit: 1, Grace: new(time.Duration(0)), IgnoreWarnings: tt.ignore})
			f := newFixture(t, nil, []*api.Service{{Name: "web", Checks: []api.ServiceCheck{c}}})
			f.quick = tt.quick
			f.prerun()
			f.exitWith(tt.code)
			if err := f.start(); err != nil {
				t.Fatal(err)
			}
			f.after(30 * time.Second)
			if n := len(f.restarts); n < tt.fewest || n > tt.atMost {
				t.Errorf("%s: %d restarts, want %d to %d", name, n, tt.fewest, tt.atMost)
			}
			f.end()
		})
	}
}

// A check goes to the address of its service unless it has a mode of its own,
// with everything that it sends replaced.
func TestWhereChecksGo(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skip("there is no second address of this machine:", err)
	}
	asked := make(chan *http.Request, 1) // the first
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r:
		default:
		}
	}))
	_ = server.Listener.Close()
	server.Listener = l
	server.Start()
	defer server.Close()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	for mode, want := range map[string]string{"": check.Success, "host": check.Failure} {
		f := newFixture(t, nil, []*api.Service{{Name: "web", PortLabel: port, Address: "127.0.0.2", Checks: []api.ServiceCheck{{
			Name: "alive-${NOMAD_ALLOC_INDEX}", Type: "HTTP", Path: "/${NOMAD_ALLOC_ID}", Method: "PUT", AddressMode: mode,
			Header:   map[string][]string{"X-${NOMAD_ALLOC_INDEX}": {"${NOMAD_ALLOC_ID}", "b"}},
			Interval: 10 * time.Millisecond, Timeout: 10 * time.Second,
		}}}})
		f.prerun()
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		if first, then := <-f.checks, <-f.checks; first != "alive-7 pending" || then != "alive-7 "+want {
			t.Errorf("mode %q: the check was %s and %s, want %s", mode, first, then, want)
		}
		f.end()
	}
	r := <-asked
	if r.URL.Path != "/alloc" || r.Method != "PUT" || strings.Join(r.Header["X-7"], " ") != "alloc b" {
		t.Errorf("asked for %s %s with %v", r.Method, r.URL, r.Header)
	}
}
