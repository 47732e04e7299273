package services_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/service"
	"taskrun/hooks"
	"taskrun/hooks/services"
	"taskrun/hooks/services/check"
	"taskrun/jobspec/taskenv"
)

// The characters of names, at the ends of their ranges and just beyond.
func TestCharactersOfServiceNames(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]bool{
		"az": false, "AZ": false, "09": false, "a-z": false, "Z9-0A": false,
		"a`": true, "a{": true, "a@": true, "a[": true, "a/": true, "a:": true, "a,": true, "a.": true, "a b": true, "a\x00": true, "-": true,
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

// A check whose address is not known keeps its service from being registered,
// whether its own port, its service's, or its mode is the reason.
func TestChecksWithoutAddress(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		service api.Service
		check   api.ServiceCheck
		err     string // empty: it is registered
	}{
		"port of its own":     {api.Service{PortLabel: "http"}, api.ServiceCheck{PortLabel: "nope"}, `the group has no port "nope"`},
		"no driver network":   {api.Service{PortLabel: "http"}, api.ServiceCheck{AddressMode: "driver"}, `network`},
		"port of the service": {api.Service{PortLabel: "http"}, api.ServiceCheck{}, ""},
		"a number":            {api.Service{PortLabel: "http"}, api.ServiceCheck{PortLabel: "8080"}, ""},
		"a script needs none": {api.Service{PortLabel: "http"}, api.ServiceCheck{Type: "script", PortLabel: "nope"}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := tt.service
			s.Name = "web"
			c := tt.check
			c.Name, c.Interval, c.Timeout = "alive", time.Hour, time.Second
			if c.Type == "" {
				c.Type = "tcp"
			}
			s.Checks = []api.ServiceCheck{c}
			f := newFixture(t, []*api.Service{&s}, nil)
			err := f.alloc.(hooks.AllocPrerun).Prerun(t.Context())
			if tt.err == "" {
				if err != nil || f.names() != "web" {
					t.Errorf("%s: registered %q, error %v", name, f.names(), err)
				}
				f.end()
				return
			}
			want := `unable to get address for check "alive" of service "web": `
			if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: error %v", name, err)
			}
			if got := f.names(); got != "" {
				t.Errorf("%s: registered %q all the same", name, got)
			}
			f.end()
		})
	}
}

// The event that deregisters a service says the same as the one that registered it.
func TestEventsOfServices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var catalog service.Catalog
		var said []event.Service
		g := &api.TaskGroup{Name: new("g"), Services: []*api.Service{
			{Name: "web", PortLabel: "http", Tags: []string{"a", "b"}, Provider: "consul", Meta: map[string]string{"k": "${NOMAD_ALLOC_ID}"}},
			{Name: "other", PortLabel: "http", Address: "192.0.2.1"},
		}}
		j := &api.Job{ID: new("j"), Name: new("j"), Namespace: new("team"), TaskGroups: []*api.TaskGroup{g}}
		h := services.New(services.Config{Catalog: &catalog}).Alloc(hooks.Alloc{
			Alloc: &event.Alloc{Job: "j", Group: "g", Name: "j.g[0]", ID: "alloc"}, Job: j, Group: g,
			Node:  &taskenv.Node{ID: "node", Datacenter: "dc1"},
			Ports: []taskenv.Port{{Label: "http", Value: 20001, HostIP: "127.0.0.1"}},
			Env:   func() *taskenv.Env { return taskenv.NewBuilder(nil, taskenv.AllocInfo{ID: "alloc"}, j, g, nil).Build() },
			Publish: func(_ time.Time, body event.Body) {
				if s, ok := body.(event.Service); ok {
					said = append(said, s)
				}
			},
			ChecksPass: func(bool) {},
		})
		if err := h.(hooks.AllocPrerun).Prerun(t.Context()); err != nil {
			t.Fatal(err)
		}
		web := catalog.Services(service.Named("web"))[0]
		if web.Provider != "consul" || web.Meta["k"] != "alloc" || web.Namespace != "team" {
			t.Errorf("it is registered as %+v", web)
		}
		if err := h.(hooks.AllocPostrun).Postrun(t.Context()); err != nil {
			t.Fatal(err)
		}
		var want []event.Service
		for _, registered := range []bool{true, false} {
			want = append(want,
				event.Service{ID: "_nomad-task-alloc-group-g-web-http", Name: "web", Address: "127.0.0.1", Port: 20001, Tags: []string{"a", "b"}, Registered: registered},
				event.Service{ID: "_nomad-task-alloc-group-g-other-http", Name: "other", Address: "192.0.2.1", Port: 20001, Registered: registered})
		}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The status of a check before its first probe is its initial_status.
func TestInitialStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]string{
		"": check.Pending, "passing": check.Success, "warning": check.Failure, "critical": check.Failure, "nonsense": check.Pending,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := script("c", nil)
			c.InitialStatus, c.OnUpdate = status, "ignore_warnings"
			f := newFixture(t, []*api.Service{{Name: "web", PortLabel: "http", Checks: []api.ServiceCheck{c}}}, nil)
			f.prerun()
			for _, s := range f.catalog.Checks("alloc") {
				if s.Status != want {
					t.Errorf("%q: %s, want %s", status, s.Status, want)
				}
			}
			if n := len(f.catalog.Checks("alloc")); n != 1 {
				t.Errorf("%q: %d checks, want 1", status, n)
			}
			// A warning does not count where warnings are ignored.
			if status == "passing" || status == "warning" {
				f.expectPasses(false, true)
			} else {
				f.expectPasses(false)
			}
			f.end()
		})
	}
}

// Checks of Consul change their mind after several results alike in a row.
func TestStreaks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := script("c", nil)
		c.SuccessBeforePassing, c.FailuresBeforeWarning, c.FailuresBeforeCritical = 2, 2, 3
		f := newFixture(t, nil, []*api.Service{{Name: "web", PortLabel: "http", Provider: "consul", Checks: []api.ServiceCheck{c}}})
		f.prerun()
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		status := func() string { return f.catalog.Checks("alloc")[firstKey(f.catalog.Checks("alloc"))].Status }
		synctest.Wait()
		steps := []struct {
			code int
			want string // after the probe with that code
		}{
			{0, check.Success}, // the second one
			{1, check.Success},
			{0, check.Success},
			{1, check.Success}, // one failure at a time
			{1, check.Failure},
			{1, check.Failure},
			{0, check.Failure},
			{0, check.Success},
		}
		if got := status(); got != check.Pending {
			t.Errorf("after one success it is %s", got)
		}
		for i, s := range steps {
			f.exitWith(s.code)
			f.after(10 * time.Second)
			if got := status(); got != s.want {
				t.Errorf("step %d: %s, want %s", i, got, s.want)
			}
		}
		f.end()
	})
}

func firstKey(all api.AllocCheckStatuses) string {
	for id := range all {
		return id
	}
	return ""
}

// A script check fails where its task runs no commands.
func TestNoCommands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := script("c", nil)
		c.TaskName = "nope"
		f := newFixture(t, nil, []*api.Service{{Name: "web", PortLabel: "http", Checks: []api.ServiceCheck{c}}})
		f.prerun()
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		f.after(time.Second)
		all := f.catalog.Checks("alloc")
		if got := all[firstKey(all)]; got.Status != check.Failure || !strings.Contains(got.Output, `no command can be run in task "nope"`) || got.Task != "nope" {
			t.Errorf("the check says %+v", got)
		}
		f.end()
	})
}

// In a network of its own a group's services are reached at its address.
func TestAddressInTheGroupsNetwork(t *testing.T) {
	t.Parallel()
	var catalog service.Catalog
	g := &api.TaskGroup{Name: new("g"), Services: []*api.Service{{Name: "web", PortLabel: "http", AddressMode: "alloc"}}}
	j := &api.Job{ID: new("j"), Name: new("j"), Namespace: new("default"), TaskGroups: []*api.TaskGroup{g}}
	h := services.New(services.Config{Catalog: &catalog}).Alloc(hooks.Alloc{
		Alloc: &event.Alloc{Job: "j", Group: "g", Name: "j.g[0]", ID: "alloc"}, Job: j, Group: g, Node: &taskenv.Node{},
		Ports:      []taskenv.Port{{Label: "http", Value: 20001, To: 80, HostIP: "127.0.0.1"}},
		Isolation:  func() *drivers.NetworkIsolation { return &drivers.NetworkIsolation{IP: "10.0.0.7"} },
		Env:        func() *taskenv.Env { return taskenv.NewBuilder(nil, taskenv.AllocInfo{ID: "alloc"}, j, g, nil).Build() },
		Publish:    func(time.Time, event.Body) {},
		ChecksPass: func(bool) {},
	})
	if err := h.(hooks.AllocPrerun).Prerun(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := catalog.Services(service.Named("web"))[0]; got.Address != "10.0.0.7" || got.Port != 80 {
		t.Errorf("it is at %s:%d", got.Address, got.Port)
	}
}
