package registry_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/leaf/variable"
)

// withVariables returns a store of variables that the registry keeps.
func withVariables(t *testing.T, a agent) *variable.Store {
	t.Helper()
	s := &variable.Store{}
	s.Restore(a.Variables())
	s.Keep(a.KeepVariable)
	t.Cleanup(s.Close)
	return s
}

func secret(namespace, path string) *api.Variable {
	return &api.Variable{Namespace: namespace, Path: path, Items: api.VariableItems{"k": "s3cr3t"}}
}

// Variables and their locks survive a restart, in each namespace, and only the
// state file has their items.
func TestVariables(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	a := open(t, dir)
	s := withVariables(t, a)
	var published []event.Event
	observe := a.bus.Observe
	a.bus.Observe = func(e event.Event) { published = append(published, e); observe(e) }
	put := func(v *api.Variable) *api.Variable {
		t.Helper()
		now, err := s.Put(v, nil)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	put(secret("default", "a"))
	put(secret("other", "a"))
	gone := put(secret("default", "gone"))
	lock := secret("default", "locked")
	lock.Lock = &api.VariableLock{ID: "1", TTL: "10s", LockDelay: "5s"}
	if _, err := s.Acquire(lock); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Delete("default", "gone", &gone.ModifyIndex); err != nil {
		t.Fatal(err)
	}
	for _, e := range published {
		if v, ok := e.Body.(event.Variable); !ok || v.Lock != nil || v.ModifyIndex != fold.Index(e) {
			t.Errorf("published: %+v", e)
		}
	}
	topics := []fold.Topic{{Table: fold.Variables}, {Table: fold.Variables, Key: "a"}, {Table: fold.Variables, Key: "a other"}}
	before := map[fold.Topic]uint64{}
	for _, topic := range topics {
		before[topic] = a.indexes.Of(topic)
	}
	if before[topics[0]] <= before[topics[2]] || before[topics[2]] <= before[topics[1]] {
		t.Errorf("indexes %v", before)
	}
	info, err := os.Stat(filepath.Join(dir, "state"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	want := s.All()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b := open(t, dir)
	again := withVariables(t, b)
	if diff := cmp.Diff(want, again.All()); diff != "" || len(want) != 3 {
		t.Errorf("%d variables (-before +after):\n%s", len(want), diff)
	}
	for _, topic := range topics {
		if got := b.indexes.Of(topic); got != before[topic] {
			t.Errorf("index of %v: %d, was %d", topic, got, before[topic])
		}
	}
	if _, err := again.Put(secret("default", "locked"), nil); !errors.Is(err, variable.ErrLocked) {
		t.Errorf("a change of a locked variable: %v", err)
	}
	if _, err := again.Renew("default", "locked", "1"); err != nil {
		t.Error(err)
	}
}

// A report of damage names the variable, but not its items.
func TestDamagedVariable(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	a := open(t, dir)
	s := withVariables(t, a)
	for _, path := range []string{"a", "b"} {
		if _, err := s.Put(secret("default", path), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "state")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "s3cr3t", "s3cr3T", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, dir)
	if left := b.Variables(); len(left) != 1 || left[0].Path != "b" || !strings.Contains(b.Lost(), `"a"`) || strings.Contains(strings.ToLower(b.Lost()), "s3cr3t") {
		t.Errorf("%d are left; %s", len(left), b.Lost())
	}
}
