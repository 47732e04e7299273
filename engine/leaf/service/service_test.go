package service_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/service"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	ports := []taskenv.Port{{Label: "http", Value: 20001, To: 80, HostIP: "10.0.0.1"}, {Label: "db", Value: 20002, HostIP: "10.0.0.2"}}
	plain := service.Network{Ports: ports, Host: "127.0.0.1"}
	container := plain
	container.Driver = &drivers.Network{IP: "172.17.0.2", PortMap: map[string]int{"db": 5432}, AutoAdvertise: true}
	silent := plain
	silent.Driver = &drivers.Network{IP: "172.17.0.2"}
	bridge := plain
	bridge.Alloc = "172.26.64.3"
	for name, tt := range map[string]struct {
		network            service.Network
		mode, port, custom string
		ip                 string
		number             int
		fails              bool
	}{
		"auto, no port":                  {network: plain, mode: "auto", ip: "127.0.0.1"},
		"no mode is auto":                {network: plain, port: "http", ip: "10.0.0.1", number: 20001},
		"auto, its own address":          {network: plain, port: "http", custom: "example.test", ip: "example.test", number: 20001},
		"its own address and number":     {network: plain, port: "99", custom: "example.test", ip: "example.test", number: 99},
		"its own address, no port":       {network: plain, custom: "example.test", ip: "example.test"},
		"auto, a driver's network":       {network: container, port: "db", ip: "172.17.0.2", number: 5432},
		"the port inside":                {network: container, port: "http", ip: "172.17.0.2", number: 80},
		"a network not to be advertised": {network: silent, port: "db", ip: "10.0.0.2", number: 20002},
		"host":                           {network: container, mode: "host", port: "db", ip: "10.0.0.2", number: 20002},
		"host, a number":                 {network: plain, mode: "host", port: "8080", ip: "127.0.0.1", number: 8080},
		"host, an unknown label":         {network: plain, mode: "host", port: "x", fails: true},
		"driver, none":                   {network: plain, mode: "driver", port: "http", fails: true},
		"driver, a number":               {network: container, mode: "driver", port: "8080", ip: "172.17.0.2", number: 8080},
		"driver, an unknown label":       {network: container, mode: "driver", port: "x", fails: true},
		"alloc":                          {network: bridge, mode: "alloc", port: "http", ip: "172.26.64.3", number: 80},
		"alloc, the same port":           {network: bridge, mode: "alloc", port: "db", ip: "172.26.64.3", number: 20002},
		"driver, no port":                {network: container, mode: "driver", ip: "172.17.0.2"},
		"alloc, no port":                 {network: bridge, mode: "alloc", ip: "172.26.64.3"},
		"alloc, a number":                {network: bridge, mode: "alloc", port: "8080", ip: "172.26.64.3", number: 8080},
		"alloc, an unknown label":        {network: bridge, mode: "alloc", port: "x", fails: true},
		"alloc, none":                    {network: plain, mode: "alloc", port: "http", fails: true},
		"no such mode":                   {network: plain, mode: "x", fails: true},
	} {
		ip, number, err := tt.network.Address(tt.mode, tt.port, tt.custom)
		if ip != tt.ip || number != tt.number || (err != nil) != tt.fails {
			t.Errorf("%s: %q, %d, %v", name, ip, number, err)
		}
	}
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	var c service.Catalog
	add := func(id, name, alloc string) {
		c.Register(&service.Instance{ServiceRegistration: api.ServiceRegistration{ID: id, ServiceName: name, AllocID: alloc}})
	}
	ids := func(keep func(*service.Instance) bool) (all string) {
		for _, s := range c.Services(keep) {
			all += s.ID
		}
		return all
	}
	changed := c.Changed()
	add("3", "web", "a")
	select {
	case <-changed:
	default:
		t.Error("nobody heard of a new service")
	}
	add("2", "web", "b")
	add("1", "zoo", "a")
	if got := ids(service.All); got != "231" {
		t.Errorf("the services are %q", got)
	}
	if got := ids(service.Named("web")); got != "23" {
		t.Errorf("the instances are %q", got)
	}
	if got := ids(service.OfAlloc("a")); got != "31" {
		t.Errorf("an allocation has %q", got)
	}
	changed = c.Changed()
	if gone := c.Deregister("2"); gone == nil || gone.AllocID != "b" || c.Deregister("2") != nil {
		t.Errorf("what was deregistered is %v", gone)
	}
	select {
	case <-changed:
	default:
		t.Error("nobody heard of a service that is gone")
	}
	if c.SetCheck("a", api.AllocCheckStatus{ID: "x", Status: "pending"}) != nil {
		t.Error("a new check said something before")
	}
	if before := c.SetCheck("a", api.AllocCheckStatus{ID: "x", Status: "success"}); before == nil || before.Status != "pending" {
		t.Errorf("before it said %v", before)
	}
	if got := c.Checks("a"); len(got) != 1 || got["x"].Status != "success" {
		t.Errorf("the checks are %v", got)
	}
	for _, s := range c.Services(service.All) {
		if !c.Passes(s) {
			t.Errorf("%s does not pass", s.ServiceName)
		}
	}
	c.SetCheck("a", api.AllocCheckStatus{ID: "y", Service: "zoo", Status: "pending"})
	for _, s := range c.Services(service.All) {
		if c.Passes(s) != (s.ServiceName == "web") {
			t.Errorf("%s passes: %v", s.ServiceName, c.Passes(s))
		}
	}
	c.Forget("a")
	if ids(service.All) != "" || len(c.Checks("a")) != 0 {
		t.Error("something of the allocation is left")
	}
}

// The instances that a key prefers stay the same as long as they exist, whatever
// the order of the list.
func TestChoose(t *testing.T) {
	t.Parallel()
	self := func(s string) string { return s }
	all := []string{"a", "b", "c", "d", "e"}
	first := slices.Clone(service.Choose(slices.Clone(all), 2, "k", self))
	if len(first) != 2 || first[0] == first[1] {
		t.Fatalf("chosen are %q", first)
	}
	reversed := slices.Clone(all)
	slices.Reverse(reversed)
	if again := service.Choose(reversed, 2, "k", self); !slices.Equal(again, first) {
		t.Errorf("in another order %q, not %q", again, first)
	}
	without := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == first[0] })
	if rest := service.Choose(without, 2, "k", self); rest[0] != first[1] {
		t.Errorf("without the first one %q", rest)
	}
	others := map[string]bool{}
	for i := range 50 {
		others[service.Choose(slices.Clone(all), 1, fmt.Sprint(i), self)[0]] = true
	}
	if len(others) != len(all) {
		t.Errorf("50 keys choose only %v", others)
	}
	if got := service.Choose(slices.Clone(all), 9, "k", self); len(got) != len(all) {
		t.Errorf("of five instances nine are %q", got)
	}
	if got := service.Choose(nil, 1, "k", self); len(got) != 0 {
		t.Errorf("of none one is %q", got)
	}
}

// The instance of a stub has everything that the stub says.
func TestOfStub(t *testing.T) {
	t.Parallel()
	s := stub.Service{Name: "db", Provider: "consul", Namespace: "team", Address: "192.0.2.1", Port: 5432, Tags: []string{"t"}, Meta: map[string]string{"k": "v"}}
	want := &service.Instance{Provider: "consul", Meta: map[string]string{"k": "v"}, ServiceRegistration: api.ServiceRegistration{
		ID: s.ID(), ServiceName: "db", Namespace: "team", Address: "192.0.2.1", Port: 5432, Tags: []string{"t"},
	}}
	if diff := cmp.Diff(want, service.OfStub(s)); diff != "" || s.ID() == "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
