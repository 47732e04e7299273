package engine_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	"taskrun/engine/port"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

func newEngine(t *testing.T, dataDir string) *engine.Engine {
	t.Helper()
	e := engine.New(engine.Config{
		DataDir: dataDir, PortDir: t.TempDir(),
		Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
		Hooks:   hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{},
	})
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// portsOf runs a job and returns the ports of its allocations by name.
func portsOf(t *testing.T, dataDir string, job *api.Job) (group map[string][]taskenv.Port, tasks map[string]map[string][]taskenv.Port) {
	t.Helper()
	job.Canonicalize()
	e := newEngine(t, dataDir)
	if err := e.Submit(job); err != nil {
		t.Fatal(err)
	}
	<-e.Done()
	group, tasks = map[string][]taskenv.Port{}, map[string]map[string][]taskenv.Port{}
	for _, a := range e.Allocs() {
		group[a.Alloc.Name], tasks[a.Alloc.Name] = a.Ports, a.TaskPorts
	}
	return group, tasks
}

func withNetwork(job *api.Job, n *api.NetworkResource) *api.Job {
	job.TaskGroups[0].Networks = []*api.NetworkResource{n, {DynamicPorts: []api.Port{{Label: "ignored"}}}}
	return job
}

func TestPortsAreReused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	job := func() *api.Job {
		job := withNetwork(newJob("batch", with(newTask("t"), func(t *api.Task) {
			t.Resources = &api.Resources{Networks: []*api.NetworkResource{{DynamicPorts: []api.Port{{Label: "own"}}}}}
		})), &api.NetworkResource{DynamicPorts: []api.Port{{Label: "http", To: -1}, {Label: "admin", To: 80}}})
		job.TaskGroups[0].Count = new(3)
		return job
	}
	first, own := portsOf(t, data, job())
	seen := map[int]bool{}
	for name, ports := range first {
		if len(ports) != 2 || ports[0].Label != "http" || ports[1].To != 80 || ports[0].HostIP != "127.0.0.1" {
			t.Errorf("%s has %v", name, ports)
		}
		for _, p := range append(ports, own[name]["t"]...) {
			if seen[p.Value] || p.Value < 20000 || p.Value > 32000 {
				t.Errorf("port %d of %s was given out before, or is none of the range", p.Value, name)
			}
			seen[p.Value] = true
		}
	}
	if len(seen) != 9 {
		t.Errorf("%d ports, want 9", len(seen))
	}
	again, ownAgain := portsOf(t, data, job())
	if diff := cmp.Diff(first, again) + cmp.Diff(own, ownAgain); diff != "" {
		t.Errorf("the next run has others:\n%s", diff)
	}
}

func TestStaticPortInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	number := l.Addr().(*net.TCPAddr).Port
	static := func(id string, collide bool) *api.Job {
		job := withNetwork(newJob("batch", newTask("t")), &api.NetworkResource{
			ReservedPorts: []api.Port{{Label: "http", Value: number, IgnoreCollision: collide}},
		})
		job.ID = &id
		job.Canonicalize()
		return job
	}
	e := newEngine(t, t.TempDir())
	err = e.Submit(static("collides", true), static("web", false))
	if !errors.Is(err, port.ErrInUse) {
		t.Errorf("error %v", err)
	}
	if got := len(e.Allocs()); got != 0 {
		t.Errorf("%d allocations were begun", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Submit(static("collides", true), static("web", false)); err != nil {
		t.Errorf("the port is free: %v", err)
	}
	<-e.Done()
}

// TestPortsWithoutAGroupNetwork checks that the port on the host equals the
// port that a bridge would forward to.
func TestPortsWithoutAGroupNetwork(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	network := func(mode string) *api.Job {
		return withNetwork(newJob("batch", newTask("t")), &api.NetworkResource{Mode: mode, DynamicPorts: []api.Port{{Label: "http", To: free}}})
	}
	if ports, _ := portsOf(t, t.TempDir(), network("bridge")); ports["job.g[0]"][0].Value != free {
		t.Errorf("in mode bridge: %v", ports)
	}
	if ports, _ := portsOf(t, t.TempDir(), network("host")); ports["job.g[0]"][0].Value == free {
		t.Errorf("in mode host: %v", ports)
	}
}
