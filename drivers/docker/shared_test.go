package docker

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/network"

	"taskrun/drivers"
	"taskrun/drivers/docker/settings"
)

// The groups of a run share a network with a name, which ends with the last one.
// Those of another run have another one.
func TestSharedNetwork(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.driver(t)
	dir := t.TempDir()
	request := func(run, alloc string) *drivers.NetworkRequest {
		allocs := filepath.Join(dir, run, "alloc")
		if err := os.MkdirAll(allocs, 0o700); err != nil {
			t.Fatal(err)
		}
		return &drivers.NetworkRequest{AllocID: alloc, AllocDir: filepath.Join(allocs, alloc), Mode: "bridge", Name: "my net"}
	}
	enter := func(d *Driver, run, alloc string) *drivers.NetworkIsolation {
		t.Helper()
		n, err := d.CreateNetwork(t.Context(), request(run, alloc))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	leave := func(n *drivers.NetworkIsolation, left int) {
		t.Helper()
		if err := d.DestroyNetwork(t.Context(), n); err != nil || len(e.networkNames()) != left {
			t.Errorf("%v, %v", err, e.networkNames())
		}
	}
	a, b := enter(d, "one", "a"), enter(d, "one", "b")
	name := settings.NetworkName(request("one", "a"))
	if names := e.networkNames(); len(names) != 1 || names[0] != name || !strings.HasPrefix(name, "taskrun-my_net-") {
		t.Errorf("the networks are %q", names)
	}
	other := enter(d, "two", "c")
	leave(a, 2)
	leave(b, 1)
	leave(other, 0)

	// Another engine of the same run finds it, and its end removes it.
	enter(d, "one", "d")
	next := e.driver(t)
	enter(next, "one", "e")
	if n, err := next.Shutdown(context.Background()); err != nil || n != 2 || len(e.networkNames()) != 0 {
		t.Errorf("%d containers were removed, %v; left are %q", n, err, e.networkNames())
	}
}

// A network that taskrun has not made is neither used nor removed.
func TestForeignNetwork(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.driver(t)
	req := &drivers.NetworkRequest{AllocID: "a", AllocDir: filepath.Join(t.TempDir(), "a"), Mode: "bridge", Name: "mine"}
	name := settings.NetworkName(req)
	e.set(func() { e.networks[name] = network.Inspect{Network: network.Network{Name: name, ID: name}} })
	_, err := d.CreateNetwork(t.Context(), req)
	if err == nil || !strings.Contains(err.Error(), `"`+name+`": the engine has one of that name, which is not of this run; remove it`) {
		t.Error(err)
	}
	if _, err := d.Shutdown(context.Background()); err != nil || len(e.networkNames()) != 1 {
		t.Errorf("%v, %q", err, e.networkNames())
	}
	e.answer("GET /networks", 1, 500, "no")
	if _, err := d.CreateNetwork(t.Context(), req); err == nil || !strings.Contains(err.Error(), "cannot look for network") {
		t.Error(err)
	}
}
