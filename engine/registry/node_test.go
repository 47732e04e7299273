package registry_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/registry"
)

// Changes by users hide or replace metadata of a node and decide whether it takes
// allocations, also under a later registry.
func TestNode(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	static := map[string]string{"rack": "r1", "hidden": "h"}
	check := func(a agent, node string, want map[string]string, eligible bool) {
		t.Helper()
		if diff := cmp.Diff(want, a.MetaOf(node, static)); diff != "" {
			t.Errorf("%s has metadata (-want +got):\n%s", node, diff)
		}
		if got := a.Eligible(node); got != eligible {
			t.Errorf("%s is eligible: %t", node, got)
		}
	}
	a := open(t, dir)
	check(a, "n", static, true)
	if _, err := a.Nodes.Put("n", &registry.Node{Ineligible: true, Meta: map[string]*string{"rack": new("r2"), "hidden": nil, "added": new("x")}}); err != nil {
		t.Fatal(err)
	}
	changed := map[string]string{"rack": "r2", "added": "x"}
	check(a, "n", changed, false)
	check(a, "other", static, true)
	if diff := cmp.Diff(map[string]string{"rack": "r2", "added": "x"}, a.MetaOf("n", nil)); diff != "" {
		t.Errorf("without a configuration (-want +got):\n%s", diff)
	}
	if got := a.MetaOf("other", nil); got == nil || len(got) > 0 {
		t.Errorf("without anything: %#v", got)
	}
	if diff := cmp.Diff(map[string]string{"rack": "r1", "hidden": "h"}, static); diff != "" {
		t.Errorf("the configuration has changed:\n%s", diff)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	check(open(t, dir), "n", changed, false)
}

// Host volumes are found by their names, also under a later registry.
func TestHostVolume(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	a := open(t, dir)
	for id, name := range map[string]string{"1": "data", "2": "logs"} {
		if _, err := a.HostVolumes.Put(id, &api.HostVolume{ID: id, Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(a agent) {
		t.Helper()
		for name, want := range map[string]string{"data": "1", "logs": "2", "none": ""} {
			got := ""
			if v := a.HostVolume(name); v != nil {
				got = v.ID
			}
			if got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
	check(a)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	check(open(t, dir))
}

// A host volume can only be read if all that was requested is to read it.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		modes []api.HostVolumeAccessMode
		want  bool
	}{
		"nothing requested": {nil, false},
		"to read it":        {[]api.HostVolumeAccessMode{api.HostVolumeAccessModeSingleNodeReader}, true},
		"to write it":       {[]api.HostVolumeAccessMode{api.HostVolumeAccessModeSingleNodeWriter}, false},
		"either":            {[]api.HostVolumeAccessMode{api.HostVolumeAccessModeSingleNodeReader, api.HostVolumeAccessModeSingleNodeWriter}, false},
	} {
		v := &api.HostVolume{}
		for _, mode := range tt.modes {
			v.RequestedCapabilities = append(v.RequestedCapabilities, &api.HostVolumeCapability{AccessMode: mode})
		}
		if got := registry.ReadOnly(v); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A registry in memory begins with Nomad's built-in objects. Adding such an object
// changes nothing.
func TestBuiltIn(t *testing.T) {
	t.Parallel()
	bus := &event.Bus{}
	r := registry.New(bus)
	if n := r.Namespaces.Get("default"); n == nil || n.Description != "Default shared namespace" || n.CreateIndex != fold.FirstIndex || n.ModifyIndex != fold.FirstIndex {
		t.Errorf("the default namespace is %+v", n)
	}
	for name, description := range map[string]string{"all": "Node pool with all nodes in the cluster.", "default": "Default node pool."} {
		if p := r.Pools.Get(name); p == nil || p.Name != name || p.Description != description || p.ModifyIndex != fold.FirstIndex {
			t.Errorf("node pool %s is %+v", name, p)
		}
	}
	if c := r.Scheduler.Get(""); c == nil || c.SchedulerAlgorithm != "binpack" || !c.PreemptionConfig.SystemSchedulerEnabled {
		t.Errorf("the scheduler is %+v", c)
	}
	r.AddPool("all", "another")
	r.AddPool("gpu", "with GPUs")
	if p := r.Pools.Get("all"); p.Description == "another" {
		t.Error("an existing node pool was replaced")
	}
	var names []string
	for _, p := range r.Pools.All() {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"all", "default", "gpu"}, names); diff != "" || r.Pools.Len() != 3 {
		t.Errorf("%d node pools (-want +got):\n%s", r.Pools.Len(), diff)
	}
	if bus.Last() != 0 || r.Lost() != "" {
		t.Errorf("%d events; lost: %q", bus.Last(), r.Lost())
	}
}

// A full table takes no other object. Those that it has can change, and a deleted
// one makes room.
func TestFullTable(t *testing.T) {
	t.Parallel()
	r := registry.New(&event.Bus{})
	put := func(name string) error {
		_, err := r.Namespaces.Put(name, &api.Namespace{Name: name})
		return err
	}
	for i := range registry.MaxObjects - r.Namespaces.Len() {
		r.Namespaces.Add(fmt.Sprint(i), &api.Namespace{})
	}
	if err := put("new"); !errors.Is(err, registry.ErrFull) || err.Error() != "there are 10000 objects of this kind already: delete some first" {
		t.Error(err)
	}
	if err := put("1"); err != nil {
		t.Error(err)
	}
	if _, err := r.Namespaces.Delete("1"); err != nil {
		t.Error(err)
	}
	if err := put("new"); err != nil || r.Namespaces.Len() != registry.MaxObjects {
		t.Errorf("%d objects, %v", r.Namespaces.Len(), err)
	}
}

// The events of changes have the object, and that of a deletion the deleted one.
func TestEventsOfChanges(t *testing.T) {
	t.Parallel()
	bus := &event.Bus{}
	var got []event.Event
	bus.Observe = func(e event.Event) { got = append(got, e) }
	r := registry.New(bus)
	for _, description := range []string{"1", "2"} {
		if _, err := r.Namespaces.Put("n", &api.Namespace{Name: "n", Description: description}); err != nil {
			t.Fatal(err)
		}
	}
	if at, err := r.Namespaces.Delete("none"); at != fold.FirstIndex || err != nil {
		t.Errorf("nothing is deleted at %d, %v", at, err)
	}
	if _, err := r.Namespaces.Delete("n"); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, e := range got {
		o := e.Body.(event.Object)
		n := o.Value.(*api.Namespace)
		texts = append(texts, fmt.Sprintf("%s %s %s %t created %d modified %d", o.Table, o.Key, n.Description, o.Deleted, n.CreateIndex, n.ModifyIndex))
		if e.Time.IsZero() {
			t.Errorf("%s: no time", texts[len(texts)-1])
		}
	}
	table := fmt.Sprint(event.Namespaces)
	want := []string{
		table + " n 1 false created 2 modified 2", table + " n 2 false created 2 modified 3", table + " n 2 true created 2 modified 3",
	}
	if diff := cmp.Diff(want, texts); diff != "" || r.Namespaces.Get("n") != nil {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
