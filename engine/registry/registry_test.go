package registry_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/registry"
	"taskrun/engine/store"
)

// agent is a registry, its bus and the indexes.
type agent struct {
	*registry.Registry
	bus     *event.Bus
	indexes *fold.Indexes
}

func open(t *testing.T, dir string) agent {
	t.Helper()
	a := agent{bus: &event.Bus{}, indexes: fold.NewIndexes()}
	a.bus.Observe = func(e event.Event) { a.indexes.Apply(e, nil) }
	r, err := registry.Open(a.bus, dir)
	if err != nil {
		t.Fatal(err)
	}
	a.Registry = r
	t.Cleanup(func() { _ = r.Close() })
	return a
}

// names returns the namespaces, with their descriptions.
func (a agent) names() map[string]string {
	names := map[string]string{}
	for _, n := range a.Namespaces.All() {
		if n.Name != api.DefaultNamespace {
			names[n.Name] = n.Description
		}
	}
	return names
}

func put(t *testing.T, a agent, name, description string) uint64 {
	t.Helper()
	index, err := a.Namespaces.Put(name, &api.Namespace{Name: name, Description: description})
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// A change advances the index of the table and of the object, and an object has
// the indexes of its creation and its latest change, also under a later registry.
func TestIndexes(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	first := open(t, dir)
	a, b := put(t, first, "a", "1"), put(t, first, "b", "1")
	again := put(t, first, "a", "2")
	if a <= 1 || b <= a || again <= b {
		t.Fatalf("indexes %d, %d, %d", a, b, again)
	}
	gone, err := first.Namespaces.Delete("b")
	if err != nil || gone <= again {
		t.Fatalf("deleted at %d, %v", gone, err)
	}
	if n := first.Namespaces.Get("a"); n.CreateIndex != a || n.ModifyIndex != again {
		t.Errorf("%+v", n)
	}
	check := func(x agent) {
		t.Helper()
		if table, object := x.indexes.Of(fold.Topic{Table: fold.Namespaces}), x.indexes.Of(fold.Topic{Table: fold.Namespaces, Key: "a"}); table != gone || object != again {
			t.Errorf("the table has index %d, want %d; the object %d, want %d", table, gone, object, again)
		}
		if diff := cmp.Diff(map[string]string{"a": "2"}, x.names()); diff != "" {
			t.Error(diff)
		}
	}
	check(first)
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	later := open(t, dir)
	check(later)
	if next := put(t, later, "c", ""); next != gone+1 {
		t.Errorf("the next index is %d, want %d", next, gone+1)
	}
}

// Nothing changes if the change fails, or has no effect.
func TestNoChange(t *testing.T) {
	t.Parallel()
	a := open(t, leaktest.TempDir(t))
	index := put(t, a, "a", "1")
	refused := errors.New("refused")
	if _, err := a.Namespaces.Change("a", func(*api.Namespace) (*api.Namespace, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	if at, err := a.Namespaces.Change("a", func(was *api.Namespace) (*api.Namespace, error) { return was, nil }); at != index || err != nil {
		t.Errorf("index %d, %v; want %d", at, err, index)
	}
	if _, err := a.Namespaces.Delete("none"); err != nil {
		t.Error(err)
	}
	if a.indexes.Now != index || a.Namespaces.Get("a") == nil {
		t.Errorf("the index is %d, want %d", a.indexes.Now, index)
	}
}

// Indexes are never given twice, even if nothing of them was stored.
func TestIndexAfterACrash(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	var last uint64
	for range 3 {
		a := open(t, dir)
		if next := a.bus.Publish(nil, "", event.Notice{}); next <= last {
			t.Fatalf("event %d after %d", next, last)
		}
		for range 40_000 {
			last = a.bus.Publish(nil, "", event.Notice{})
		}
		a.HaltWhen(func() bool { return true })
		_ = a.Close()
	}
}

// TestCrashes kills the registry before and after every write: afterwards it has
// every acknowledged change, and no other.
func TestCrashes(t *testing.T) {
	t.Parallel()
	for point := 1; ; point++ {
		dir := leaktest.TempDir(t)
		a := open(t, dir)
		calls, dead := 0, false
		a.HaltWhen(func() bool { calls++; dead = dead || calls >= point; return dead })
		told, maybe := map[string]string{}, map[string]string{}
		for i := range 30 {
			name := fmt.Sprint("n", i%7)
			next := maps.Clone(told)
			if i%5 == 4 {
				delete(next, name)
				_, _ = a.Namespaces.Delete(name)
			} else {
				next[name] = fmt.Sprint(i)
				put(t, a, name, fmt.Sprint(i))
			}
			if dead {
				maybe = next
				break
			}
			told = next
		}
		now := a.indexes.Now
		_ = a.Close()
		if !dead {
			if point < 30 {
				t.Errorf("only %d points", point)
			}
			return
		}
		later := open(t, dir)
		if got := later.names(); !maps.Equal(got, told) && !maps.Equal(got, maybe) || later.Lost() != "" {
			t.Fatalf("at point %d: %v, want %v or %v; lost %q", point, got, told, maybe, later.Lost())
		}
		if next := put(t, later, "next", ""); next < now {
			t.Fatalf("at point %d: index %d after %d", point, next, now)
		}
	}
}

// TestDamage flips a bit of each byte of the file, and truncates it after each:
// losses are reported, the rest stays, and the file is set aside.
func TestDamage(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	a := open(t, dir)
	put(t, a, "a", "1")
	put(t, a, "b", "2")
	put(t, a, "c", "3")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	whole := a.names()
	text, err := os.ReadFile(filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	check := func(text []byte, what string) {
		t.Helper()
		dir := leaktest.TempDir(t)
		if err := os.WriteFile(filepath.Join(dir, "state"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		back := open(t, dir)
		got := back.names()
		if len(got) < 2 && !strings.HasPrefix(what, "cut") {
			t.Errorf("%s: only %v is left", what, got)
		}
		for name, description := range got {
			if whole[name] != description {
				t.Errorf("%s: namespace %q is %q", what, name, description)
			}
		}
		if len(got) < 3 && back.Lost() == "" && !strings.HasPrefix(what, "cut") {
			t.Errorf("%s: %v, and nothing is said", what, got)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || (len(entries) == 2) != (back.Lost() != "") {
			t.Errorf("%s: lost %q, files %v, %v", what, back.Lost(), entries, err)
		}
		if back.Lost() != "" && !strings.Contains(back.Lost(), "set aside") {
			t.Errorf("%s: %s", what, back.Lost())
		}
		put(t, back, "new", "")
		_ = back.Close()
		if again := open(t, dir); again.Lost() != "" || len(again.names()) != len(got)+1 {
			t.Errorf("%s: then %v, %q", what, again.names(), again.Lost())
		}
	}
	for i := range text {
		damaged := slices.Clone(text)
		damaged[i] ^= 4
		if text[i] == '\n' { // two lines become one
			check(damaged, fmt.Sprint("cut between lines at ", i))
		} else {
			check(damaged, fmt.Sprint("byte ", i))
		}
		check(text[:i], fmt.Sprint("cut at ", i))
	}
	header := `{"format":"taskrun state","version":9}`
	_, rest, _ := strings.Cut(string(text), "\n")
	newer := leaktest.TempDir(t)
	if err := os.WriteFile(filepath.Join(newer, "state"), fmt.Appendf(nil, "%08x %s\n%s", crc32.ChecksumIEEE([]byte(header)), header, rest), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = registry.Open(&event.Bus{}, newer)
	if err == nil || !strings.Contains(err.Error(), "has version 9, but this taskrun can only read version 2: use the taskrun that wrote it") {
		t.Errorf("a newer version: %v", err)
	}
	if entries, err := os.ReadDir(newer); err != nil || len(entries) != 1 {
		t.Errorf("its files are %v, %v", entries, err)
	}
}

// A record that is whole, but not of its kind, is lost, and told by its name.
func TestOddRecords(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	a := open(t, dir)
	put(t, a, "good", "1")
	if _, err := withVariables(t, a).Put(secret("default", "good"), nil); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	ledger, err := store.OpenLedger(&event.Bus{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	keys := [][]string{
		{"floor"}, {"namespace", "object", "odd"}, {"namespace", "deleted"}, {"variable", "object", "default", "odd"}, {"variable", "deleted"},
	}
	var c store.Change
	for _, key := range keys {
		c.Put(store.KeyOf(key...), "odd")
	}
	if err := errors.Join(ledger.Store(c), ledger.Close()); err != nil {
		t.Fatal(err)
	}
	b := open(t, dir)
	for _, key := range keys {
		if want := fmt.Sprintf("cannot read record %q: ", key); strings.Count(b.Lost(), want) != 1 {
			t.Errorf("%s is not in %s", want, b.Lost())
		}
	}
	if n := strings.Count(b.Lost(), "cannot read"); n != len(keys) {
		t.Errorf("%d records are lost: %s", n, b.Lost())
	}
	if diff := cmp.Diff(map[string]string{"good": "1"}, b.names()); diff != "" || len(b.Variables()) != 1 || b.Variables()[0].Path != "good" {
		t.Errorf("%d variables; namespaces (-want +got):\n%s", len(b.Variables()), diff)
	}
}

func TestChangesAtOnce(t *testing.T) {
	t.Parallel()
	a := open(t, leaktest.TempDir(t))
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() { put(t, a, fmt.Sprint(i%10), "") })
	}
	all.Wait()
	seen := map[uint64]bool{}
	for name := range a.names() {
		seen[a.Namespaces.Get(name).ModifyIndex] = true
	}
	if len(seen) != 10 || a.indexes.Now != 101 {
		t.Errorf("indexes %v, the last one is %d", seen, a.indexes.Now)
	}
}

// Nomad's node pools are there from the start, with its default for them.
func TestBuiltInPools(t *testing.T) {
	t.Parallel()
	a := open(t, leaktest.TempDir(t))
	for _, name := range []string{"all", "default"} {
		if p := a.Pools.Get(name); p == nil || p.NodeIdentityTTL != 24*time.Hour {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
