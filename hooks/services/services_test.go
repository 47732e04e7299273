package services_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/service"
	"taskrun/hooks"
	"taskrun/hooks/services"
	"taskrun/jobspec/taskenv"
)

// fixture is an allocation with one task, in a bubble. Checks are scripts,
// which end with the code that is set.
type fixture struct {
	*testing.T
	catalog  service.Catalog
	alloc    hooks.AllocHook
	task     hooks.TaskHook
	restarts chan string
	quick    bool        // a restart does not take as long as it may
	checks   chan string // names and states, as they change

	mu      sync.Mutex
	code    int
	text    string // that a check writes
	passes  []bool
	said    []string
	results []event.Check
}

func newFixture(t *testing.T, group, task []*api.Service) *fixture {
	return newFixtureOf(t, services.Config{}, group, task)
}

// newFixtureOf is newFixture with other hooks.
func newFixtureOf(t *testing.T, cfg services.Config, group, task []*api.Service) *fixture {
	f := &fixture{T: t, restarts: make(chan string, 100), checks: make(chan string, 1000)}
	spec := &api.Task{Name: "t", Services: task}
	g := &api.TaskGroup{Name: new("g"), Services: group, Tasks: []*api.Task{spec}}
	j := &api.Job{ID: new("j"), Name: new("j"), Namespace: new("default"), TaskGroups: []*api.TaskGroup{g}}
	id := &event.Alloc{Job: "j", Group: "g", Name: "j.g[0]", ID: "alloc"}
	node := &taskenv.Node{ID: "node", Datacenter: "dc1"}
	ports := []taskenv.Port{{Label: "http", Value: 20001, HostIP: "127.0.0.1"}}
	cfg.Catalog = &f.catalog
	all := services.New(cfg)
	f.alloc = all.Alloc(hooks.Alloc{
		Alloc: id, Job: j, Group: g, Node: node, Ports: ports,
		TaskPorts: map[string][]taskenv.Port{"t": {{Label: "own", Value: 20002, HostIP: "127.0.0.1"}}},
		Env: func() *taskenv.Env {
			return taskenv.NewBuilder(node, taskenv.AllocInfo{ID: "alloc", Index: 7}, j, g, nil).Build()
		},
		Publish: func(_ time.Time, body event.Body) {
			f.mu.Lock()
			defer f.mu.Unlock()
			switch b := body.(type) {
			case event.Service:
				f.said = append(f.said, fmt.Sprintf("%s %v", b.Name, b.Registered))
			case event.Check:
				f.said = append(f.said, b.Check+" "+b.Status)
				f.results = append(f.results, b)
				f.checks <- b.Check + " " + b.Status
			}
		},
		ChecksPass: func(pass bool) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.passes = append(f.passes, pass)
		},
		Restart: func(ctx context.Context, task, reason string) error {
			select {
			case f.restarts <- task + ": " + reason:
			default:
				panic("it is restarted all the time")
			}
			if !f.quick {
				<-ctx.Done() // the longest that it may take
			}
			return nil
		},
	})
	f.task = all.Task(hooks.Task{Alloc: id, Job: j, Group: g, Task: spec})
	return f
}

func (f *fixture) prerun() {
	f.Helper()
	if err := f.alloc.(hooks.AllocPrerun).Prerun(f.Context()); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) start() error {
	f.Helper()
	return f.task.(hooks.TaskPoststart).Poststart(f.Context(), &hooks.PoststartRequest{
		Env: taskenv.NewBuilder(nil, taskenv.AllocInfo{ID: "alloc", Index: 7}, nil, nil, nil).Build(),
		Exec: func(context.Context, []string) (*drivers.ExecTaskResult, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			return &drivers.ExecTaskResult{Output: []byte(f.text), ExitResult: drivers.ExitResult{ExitCode: f.code}}, nil
		},
	})
}

func (f *fixture) exited() {
	if err := f.task.(hooks.TaskExited).Exited(f.Context()); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) end() {
	f.exited()
	if err := f.alloc.(hooks.AllocPostrun).Postrun(f.Context()); err != nil {
		f.Fatal(err)
	}
	if left := f.names(); left != "" || len(f.catalog.Checks("alloc")) != 0 {
		f.Errorf("%q are left", left)
	}
}

func (f *fixture) exitWith(code int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.code = code
}

func (f *fixture) names() string {
	var names []string
	for _, s := range f.catalog.Services(service.All) {
		names = append(names, s.ServiceName)
	}
	return strings.Join(names, " ")
}

// after lets time pass until everything that is due has happened.
func (f *fixture) after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (f *fixture) expectPasses(want ...bool) {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.passes, want) {
		f.Errorf("the checks pass: %v, want %v", f.passes, want)
	}
}

func script(name string, restart *api.CheckRestart) api.ServiceCheck {
	return api.ServiceCheck{
		Name: name, Type: "script", Command: "c", Interval: 10 * time.Second, Timeout: time.Second, CheckRestart: restart,
	}
}

func TestRegistered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t,
			[]*api.Service{{Name: "group-${NOMAD_ALLOC_INDEX}", PortLabel: "http"}},
			[]*api.Service{{Name: "task", PortLabel: "http", Tags: []string{"t-${NOMAD_ALLOC_INDEX}"}}})
		f.prerun()
		if got := f.names(); got != "group-7" {
			t.Errorf("before the start there are %q", got)
		}
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		if got := f.names(); got != "group-7 task" {
			t.Errorf("after the start there are %q", got)
		}
		got := *f.catalog.Services(service.Named("task"))[0]
		if got.ID != "_nomad-task-alloc-t-task-http" || got.Address != "127.0.0.1" || got.Port != 20001 ||
			got.Tags[0] != "t-7" || got.JobID != "j" || got.AllocID != "alloc" || got.NodeID != "node" || got.Datacenter != "dc1" {
			t.Errorf("the task's service is %+v", got)
		}
		f.exited()
		if got := f.names(); got != "group-7" {
			t.Errorf("between the starts there are %q", got)
		}
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		f.alloc.(hooks.AllocPrekill).Prekill(t.Context())
		if got := f.names(); got != "task" {
			t.Errorf("when the group is being killed there are %q", got)
		}
		f.end()
		f.expectPasses()
		if want := "group-7 true task true task false task true group-7 false task false"; strings.Join(f.said, " ") != want {
			t.Errorf("it said %q", f.said)
		}
	})
}

// A check is published when its status changes and, if it fails otherwise than
// that said, at its end.
func TestLastOutputOfACheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil, []*api.Service{{Name: "b", Checks: []api.ServiceCheck{script("one", nil)}}})
		f.prerun()
		f.exitWith(2)
		f.text = "first"
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		f.after(time.Second)
		for _, text := range []string{"second", "third"} {
			f.mu.Lock()
			f.text = text
			f.mu.Unlock()
			f.after(10 * time.Second)
		}
		f.end()
		var got []string
		for _, c := range f.results {
			got = append(got, c.Status+" "+c.Output+" "+c.Target)
		}
		if want := []string{"pending nomad: waiting to run c", "failure first c", "failure third c"}; !slices.Equal(got, want) {
			t.Errorf("published %q, want %q", got, want)
		}
	})
}

func TestChecksPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		group := script("one", nil)
		group.TaskName = "t"
		f := newFixture(t,
			[]*api.Service{{Name: "a", Checks: []api.ServiceCheck{group}}},
			[]*api.Service{{Name: "b", Checks: []api.ServiceCheck{script("two", nil)}}})
		f.prerun()
		f.expectPasses(false)
		f.exitWith(2)
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		f.after(time.Second)
		f.expectPasses(false)
		f.exitWith(0)
		f.after(10 * time.Second)
		f.expectPasses(false, true)
		for _, status := range f.catalog.Checks("alloc") {
			if status.Status != "success" || status.Mode != "healthiness" || status.Task != "t" || status.Group != "j.g[0]" {
				t.Errorf("a check says %+v", status)
			}
		}
		f.exitWith(1)
		f.after(10 * time.Second)
		f.expectPasses(false, true, false)
		f.end()
	})
}

// A check that is about readiness may fail, but it must have run.
func TestReadiness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := script("c", nil)
		c.OnUpdate = "ignore"
		f := newFixture(t, nil, []*api.Service{{Name: "a", Checks: []api.ServiceCheck{c}}})
		f.prerun()
		f.expectPasses(false)
		f.exitWith(2)
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		f.after(time.Second)
		f.expectPasses(false, true)
		f.end()
	})
}

func TestThresholds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := script("c", nil)
		c.SuccessBeforePassing, c.FailuresBeforeCritical = 2, 3
		f := newFixture(t, nil, []*api.Service{{Name: "a", Checks: []api.ServiceCheck{c}}})
		f.prerun()
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		f.after(time.Second)
		f.expectPasses(false)
		f.after(10 * time.Second)
		f.expectPasses(false, true)
		f.exitWith(2)
		f.after(20 * time.Second)
		f.expectPasses(false, true)
		f.after(10 * time.Second)
		f.expectPasses(false, true, false)
		f.end()
	})
}

// TestAWarningComesBeforeAFailure counts failures up to both thresholds.
func TestAWarningComesBeforeAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := script("c", nil)
		c.FailuresBeforeWarning, c.FailuresBeforeCritical = 2, 4
		c.OnUpdate = "ignore_warnings"
		f := newFixture(t, nil, []*api.Service{{Name: "a", Checks: []api.ServiceCheck{c}}})
		f.prerun()
		f.exitWith(2)
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		f.after(time.Second)
		f.expectPasses(false)
		f.after(10 * time.Second) // the second failure only warns
		f.expectPasses(false, true)
		f.after(10 * time.Second)
		f.expectPasses(false, true)
		f.after(10 * time.Second)
		f.expectPasses(false, true, false)
		f.end()
	})
}

func TestRestarts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		group, task bool
		want        string
	}{
		"of the task":  {task: true, want: `t: healthcheck: check "c" unhealthy`},
		"of the group": {group: true, want: `: healthcheck: check "c" unhealthy`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				grace := 15 * time.Second
				c := script("c", &api.CheckRestart{Limit: 2, Grace: &grace})
				c.TaskName = "t"
				offered := []*api.Service{{Name: "a", Checks: []api.ServiceCheck{c}}}
				var group, task []*api.Service
				if tt.group {
					group = offered
				} else {
					task = offered
				}
				f := newFixture(t, group, task)
				f.prerun()
				f.exitWith(2)
				if err := f.start(); err != nil {
					t.Fatal(err)
				}
				f.after(24 * time.Second)
				if len(f.restarts) != 0 {
					t.Fatalf("after 24s it was restarted: %s", <-f.restarts)
				}
				f.after(2 * time.Second) // 15s of grace, and one interval
				select {
				case got := <-f.restarts:
					if got != tt.want {
						t.Errorf("restarted %q, want %q", got, tt.want)
					}
				default:
					t.Error("nothing was restarted")
				}
				f.after(20 * time.Second) // the next grace has begun
				if len(f.restarts) != 0 {
					t.Error("it was restarted in the grace")
				}
				f.end()
			})
		})
	}
}

// TestPortsOfATask registers a service at a port of its task's deprecated
// network, which the group does not have.
func TestPortsOfATask(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, []*api.Service{{Name: "task", PortLabel: "own"}})
	f.prerun()
	if err := f.start(); err != nil {
		t.Fatal(err)
	}
	if got := f.catalog.Services(service.Named("task"))[0]; got.Address != "127.0.0.1" || got.Port != 20002 {
		t.Errorf("it is at %s:%d", got.Address, got.Port)
	}
	f.end()
}

func TestBadServices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, []*api.Service{{Name: "a", PortLabel: "none"}}, []*api.Service{{Name: "not_valid"}})
		err := f.alloc.(hooks.AllocPrerun).Prerun(t.Context())
		if err == nil || err.Error() != `unable to get address for service "a": the group has no port "none"` {
			t.Errorf("the error is %v", err)
		}
		if err := f.start(); err == nil || !strings.Contains(err.Error(), `service name "not_valid" is not valid`) {
			t.Errorf("the error is %v", err)
		}
		f.end()
	})
}

func TestServiceNames(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]bool{
		"a": false, "a-1": false, "A9": false, strings.Repeat("a", 63): false,
		"": true, "-a": true, "a-": true, "a_b": true, "a.b": true, "ä": true, strings.Repeat("a", 64): true,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, []*api.Service{{Name: name}}, nil)
			if err := f.alloc.(hooks.AllocPrerun).Prerun(t.Context()); (err != nil) != bad {
				t.Errorf("%q: %v", name, err)
			}
			f.end()
		})
	}
}

// TestUpdate: services that a new version of the job does not change continue, and
// changed ones are registered again, also in a group that had no services before.
func TestUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := func(name string) *api.Service {
			s := &api.Service{Name: name, Provider: "nomad", Checks: []api.ServiceCheck{{
				Name: "c", Type: "script", Command: "true", Interval: time.Second, Timeout: time.Second, TaskName: "t",
			}}}
			return s
		}
		f := newFixture(t, nil, []*api.Service{script("kept")})
		f.prerun()
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		f.after(2 * time.Second)
		f.expectPasses(false, true)
		f.update([]*api.Service{script("added")}, []*api.Service{script("kept")})
		f.expectNames("added kept")
		f.after(2 * time.Second)
		f.expectPasses(false, true, false, true)
		f.update([]*api.Service{script("added")}, []*api.Service{script("renamed")})
		f.expectNames("added renamed")
		if n := len(f.catalog.Checks("alloc")); n != 2 {
			t.Errorf("there are %d checks, want 2", n)
		}
		f.after(2 * time.Second)
		f.expectPasses(false, true, false, true, false, true)
		f.update(nil, nil)
		f.expectNames("")
		if n := len(f.catalog.Checks("alloc")); n != 0 {
			t.Errorf("%d checks are left", n)
		}
		f.end()
	})
}

// update gives the hooks another version of the job.
func (f *fixture) update(group, task []*api.Service) {
	f.Helper()
	spec := &api.Task{Name: "t", Services: task}
	g := &api.TaskGroup{Name: new("g"), Services: group, Tasks: []*api.Task{spec}}
	if err := f.alloc.(hooks.AllocUpdate).Update(f.Context(), nil, g); err != nil {
		f.Fatal(err)
	}
	if err := f.task.(hooks.TaskUpdate).Update(f.Context(), &hooks.UpdateRequest{Task: spec}); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) expectNames(want string) {
	f.Helper()
	names := strings.Fields(f.names())
	slices.Sort(names)
	if got := strings.Join(names, " "); got != want {
		f.Errorf("registered: %q, want %q", got, want)
	}
}
