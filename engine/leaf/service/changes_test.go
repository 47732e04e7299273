package service_test

import (
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/service"
)

// Only changes of the catalog wake its followers.
func TestChanges(t *testing.T) {
	t.Parallel()
	var c service.Catalog
	instance := func(id string) *service.Instance {
		return &service.Instance{ServiceRegistration: api.ServiceRegistration{ID: id, ServiceName: "web", AllocID: "a"}}
	}
	set := func(status, output string) func() {
		return func() { c.SetCheck("a", api.AllocCheckStatus{ID: "1", Service: "web", Status: status, Output: output}) }
	}
	for _, tt := range []struct {
		what  string
		do    func()
		wakes bool
	}{
		{"a new service", func() { c.Register(instance("1")) }, true},
		{"the same once more", func() { c.Register(instance("1")) }, true},
		{"a new check", set("pending", ""), true},
		{"another output", set("pending", "x"), false},
		{"another status", set("success", "x"), true},
		{"an unknown check is forgotten", func() { c.ForgetCheck("a", "2") }, false},
		{"a check of an unknown allocation is forgotten", func() { c.ForgetCheck("b", "1") }, false},
		{"the check is forgotten", func() { c.ForgetCheck("a", "1") }, true},
		{"again", func() { c.ForgetCheck("a", "1") }, false},
		{"an unknown service is removed", func() { c.Deregister("2") }, false},
		{"the service is removed", func() { c.Deregister("1") }, true},
		{"nothing of an allocation is forgotten", func() { c.Forget("a") }, false},
		{"another service", func() { c.Register(instance("3")) }, true},
		{"an allocation is forgotten", func() { c.Forget("a") }, true},
		{"something beside it", c.Wake, true},
	} {
		changed := c.Changed()
		tt.do()
		woken := false
		select {
		case <-changed:
			woken = true
		default:
		}
		if woken != tt.wakes {
			t.Errorf("%s wakes: %v", tt.what, woken)
		}
	}
	if got := c.Checks("a"); len(got) != 0 {
		t.Errorf("checks that were forgotten: %v", got)
	}
}

// Only failing checks of its own service keep an instance from passing.
func TestPasses(t *testing.T) {
	t.Parallel()
	var c service.Catalog
	web := &service.Instance{ServiceRegistration: api.ServiceRegistration{ServiceName: "web", AllocID: "a"}}
	for _, tt := range []struct {
		id, service, status string
		passes              bool
	}{
		{"1", "web", "success", true},
		{"2", "db", "failure", true},
		{"3", "web", "pending", false},
		{"3", "web", "success", true},
		{"1", "web", "failure", false},
	} {
		c.SetCheck("a", api.AllocCheckStatus{ID: tt.id, Service: tt.service, Status: tt.status})
		if got := c.Passes(web); got != tt.passes {
			t.Errorf("check %s of %s is %s: it passes: %v", tt.id, tt.service, tt.status, got)
		}
	}
	before := c.SetCheck("a", api.AllocCheckStatus{ID: "1", Status: "success"})
	if before == nil || before.Status != "failure" || len(c.Checks("a")) != 3 {
		t.Errorf("before: %v, now %v", before, c.Checks("a"))
	}
}

func TestRegistrationID(t *testing.T) {
	t.Parallel()
	s := &api.Service{Name: "web", PortLabel: "http"}
	for task, want := range map[string]string{"t": "_nomad-task-1-t-web-http", "": "_nomad-task-1-group-g-web-http"} {
		if got := service.RegistrationID("1", "g", task, s); got != want {
			t.Errorf("of task %q: %s", task, got)
		}
	}
}
