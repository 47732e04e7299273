package grant

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/port"
	"taskrun/engine/runner"
	"taskrun/jobspec/taskenv"
)

// newGroup returns a group with a network, and with a task with another one.
func newGroup(group, task *api.NetworkResource) *api.TaskGroup {
	g := &api.TaskGroup{Name: new("g"), Count: new(1), Tasks: []*api.Task{{Name: "bare", Driver: "mock"}, {Name: "t", Driver: "mock", Resources: &api.Resources{}}}}
	ignored := &api.NetworkResource{ReservedPorts: []api.Port{{Label: "ignored", Value: 7}}, DynamicPorts: []api.Port{{Label: "ignored"}}}
	if group != nil {
		g.Networks = []*api.NetworkResource{group, ignored}
	}
	if task != nil {
		g.Tasks[1].Resources.Networks = []*api.NetworkResource{task, ignored}
	}
	return g
}

func static(label string, number int) *api.NetworkResource {
	return &api.NetworkResource{ReservedPorts: []api.Port{{Label: label, Value: number, To: 80}}}
}

func dynamic(ports ...api.Port) *api.NetworkResource {
	return &api.NetworkResource{DynamicPorts: ports}
}

func newJob(groups ...*api.TaskGroup) *api.Job {
	job := &api.Job{ID: new("job"), Type: new("service"), TaskGroups: groups}
	job.Canonicalize()
	return job
}

// fixture gives out the ports of a job.
type fixture struct {
	*testing.T
	*Ports
	notices []string
}

func newPorts(t *testing.T, claims *port.Claims) *fixture {
	t.Helper()
	f := &fixture{T: t}
	f.Ports = &Ports{
		Job: "job", Claims: claims, Memory: port.Recall(filepath.Join(t.TempDir(), "ports")),
		Drivers: map[string]drivers.Driver{"mock": host{}},
		Notice:  func(format string, args ...any) { f.notices = append(f.notices, fmt.Sprintf(format, args...)) },
	}
	t.Cleanup(func() {
		if err := f.Memory.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// by returns who has a port.
func (f *fixture) by(number int) string {
	f.Helper()
	err := f.Claims.Adopt(number, "the test")
	if err == nil {
		f.Claims.Release(number)
		return ""
	}
	used, ok := errors.AsType[*port.InUseError](err)
	if !ok {
		f.Fatal(err)
	}
	return used.By
}

func (f *fixture) noted(want ...string) {
	f.Helper()
	if !slices.Equal(f.notices, want) {
		f.Errorf("notices %q, want %q", f.notices, want)
	}
	f.notices = nil
}

// unused returns ports on which nothing listens.
func unused(t *testing.T, n int) (numbers []int) {
	t.Helper()
	claims := port.NewClaims("")
	for range n {
		number, err := claims.Dynamic("test", 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, number)
	}
	return numbers
}

func alloc(g *api.TaskGroup, index int) *runner.Config {
	return &runner.Config{Alloc: &event.Alloc{Name: AllocName("job", *g.Name, index)}, Index: index, Group: g}
}

// The static ports of a job are those of the first network of each group and
// each task, once for each allocation.
func TestStaticPorts(t *testing.T) {
	t.Parallel()
	open := newGroup(static("http", 8080), static("own", 9000))
	open.Count, open.Networks[0].ReservedPorts = new(2), append(open.Networks[0].ReservedPorts,
		api.Port{Label: "shared", Value: 8081, IgnoreCollision: true}, api.Port{Label: "admin", Value: 8082})
	alone := newGroup(nil, static("alone", 7000))
	alone.Name = new("h")
	alone.Tasks = append(alone.Tasks, newGroup(nil, static("second", 7001)).Tasks[1])
	job := newJob(open, alone)
	var all []string
	for p := range StaticPorts(job) {
		all = append(all, fmt.Sprintf("%s %s %d", p.alloc("job"), p.Label, p.Value))
	}
	want := []string{
		"job.g[0] http 8080", "job.g[0] admin 8082", "job.g[0] own 9000", "job.g[1] http 8080", "job.g[1] admin 8082", "job.g[1] own 9000", "job.h[0] alone 7000", "job.h[0] second 7001",
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for limit := range len(want) { // a reader may stop anywhere
		n := 0
		for range StaticPorts(job) {
			if n++; n > limit {
				break
			}
		}
	}
}

// Each network has its static and its dynamic ports, with their addresses.
func TestGivenPorts(t *testing.T) {
	t.Parallel()
	f, number := newPorts(t, port.NewClaims("")), unused(t, 1)[0]
	g := newGroup(static("http", number), dynamic(api.Port{Label: "own"}))
	g.Networks[0].DynamicPorts = []api.Port{{Label: "admin", To: 81}}
	cfg := alloc(g, 1)
	claimed, err := f.Give(cfg, 0)
	if err != nil || len(claimed) != 3 || claimed[0] != number {
		t.Fatalf("claimed %v, %v", claimed, err)
	}
	group := []taskenv.Port{{Label: "http", Value: number, To: 80, HostIP: "127.0.0.1"}, {Label: "admin", Value: claimed[1], To: 81, HostIP: "127.0.0.1"}}
	tasks := map[string][]taskenv.Port{"t": {{Label: "own", Value: claimed[2], HostIP: "127.0.0.1"}}}
	if diff := cmp.Diff(group, cfg.Ports) + cmp.Diff(tasks, cfg.TaskPorts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, number := range claimed {
		if by := f.by(number); by != "job.g[1]" {
			t.Errorf("port %d belongs to %q", number, by)
		}
	}
	f.Release(claimed)
	again := alloc(g, 1)
	f.Reserved = true // the static port is that of all allocations
	claimed, err = f.Give(again, 0)
	if err != nil || len(claimed) != 2 {
		t.Errorf("claimed %v, %v", claimed, err)
	}
	if diff := cmp.Diff(cfg.Ports, again.Ports) + cmp.Diff(cfg.TaskPorts, again.TaskPorts); diff != "" {
		t.Errorf("the same allocation gets others later:\n%s", diff)
	}
	f.Release(claimed)
	other := alloc(g, 2)
	if _, err := f.Give(other, 0); err != nil || other.Ports[1].Value == cfg.Ports[1].Value {
		t.Errorf("another allocation gets %v, %v", other.Ports, err)
	}
	f.noted()
}

// An allocation gets all of its ports or none.
func TestPortsThatAreInUse(t *testing.T) {
	t.Parallel()
	f, numbers := newPorts(t, port.NewClaims("")), unused(t, 2)
	g := newGroup(static("http", numbers[0]), static("own", numbers[1]))
	g.Networks[0].DynamicPorts = []api.Port{{Label: "admin"}}
	if err := f.Claims.Adopt(numbers[1], "other.g[0]"); err != nil {
		t.Fatal(err)
	}
	claimed, err := f.Give(alloc(g, 0), 0)
	want := fmt.Sprintf(`port "own" of group "g": static port %d is in use by other.g[0]`, numbers[1])
	if claimed != nil || err == nil || err.Error() != want || !errors.Is(err, port.ErrInUse) {
		t.Errorf("claimed %v, %v, want %s", claimed, err, want)
	}
	if by := f.by(numbers[0]); by != "" {
		t.Errorf("port %d belongs to %s", numbers[0], by)
	}
	if f.Memory.Of("g[0]  admin") != 0 {
		t.Error("a dynamic port was claimed")
	}
	f.Claims.Obey(port.Rules{Reserved: "1", First: 1, Last: 1})
	claimed, err = f.Give(alloc(newGroup(dynamic(api.Port{Label: "a"}, api.Port{Label: "b"}), nil), 0), 0)
	if want := `cannot find a port for label "a": all ports from 1 to 1 are in use`; claimed != nil || err == nil || err.Error() != want {
		t.Errorf("claimed %v, %v", claimed, err)
	}
}

// A task whose network has no bridge gets the port that the bridge would
// forward to, except if the driver has a network of its own.
func TestPortThatTheTaskListensOn(t *testing.T) {
	t.Parallel()
	free := unused(t, 1)[0]
	for _, c := range []struct {
		mode   string
		to     int
		driver drivers.Driver
		direct bool
	}{
		{"bridge", free, host{}, true},
		{"host", free, host{}, false},
		{"", free, host{}, false},
		{"bridge", free, image{}, false},
		{"bridge", 0, host{}, false},
		{"bridge", -1, host{}, false},
	} {
		f, number := newPorts(t, port.NewClaims("")), c.to
		f.Drivers["mock"] = c.driver
		g := newGroup(dynamic(api.Port{Label: "http", To: number}), nil)
		g.Networks[0].Mode = c.mode
		cfg := alloc(g, 0)
		if _, err := f.Give(cfg, 0); err != nil || (cfg.Ports[0].Value == number) != c.direct {
			t.Errorf("mode %q, %T: %v instead of %d, %v", c.mode, c.driver, cfg.Ports, number, err)
		}
		f.noted()
		if !c.direct {
			continue
		}
		second := alloc(g, 1)
		if _, err := f.Give(second, 0); err != nil || second.Ports[0].Value == number {
			t.Errorf("twice the same port: %v, %v", second.Ports, err)
		}
		f.noted(fmt.Sprintf("job.g[1]: port %d is in use, and nothing forwards %d to it for port %q", number, second.Ports[0].Value, "http"))
	}
}

// host is a driver whose tasks use the network of the machine.
type host struct{ drivers.Driver }

func (host) Capabilities() drivers.Capabilities { return drivers.Capabilities{} }

// image is a driver whose tasks have a network of their own.
type image struct{ drivers.Driver }

func (image) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{FSIsolation: drivers.FSIsolationImage}
}

// Ports that cannot be remembered are given nevertheless.
func TestPortsThatAreNotRemembered(t *testing.T) {
	t.Parallel()
	f := newPorts(t, port.NewLogical())
	path := filepath.Join(t.TempDir(), "missing", "ports")
	f.Memory = port.Recall(path)
	cfg := alloc(newGroup(dynamic(api.Port{Label: "http"}), nil), 0)
	if claimed, err := f.Give(cfg, 0); err != nil || len(claimed) != 1 {
		t.Errorf("claimed %v, %v", claimed, err)
	}
	_, err := os.OpenFile(path, os.O_WRONLY, 0)
	f.noted(fmt.Sprintf("the ports of job %q may be others in the next run: %v", "job", err))
}

// In a run with a seed the plan decides, in whatever order the allocations come.
func TestPlannedPorts(t *testing.T) {
	t.Parallel()
	f := newPorts(t, port.NewLogical())
	g := newGroup(dynamic(api.Port{Label: "http"}), dynamic(api.Port{Label: "own", To: 9000}))
	f.Plan(g, 0, 0) // has no effect without a seed
	f.Sequence = port.NewSequence(0)
	f.static = []int{port.FirstDynamic}
	g.Tasks[1].Resources.Networks[0].Mode = "bridge"
	for index := range 2 {
		f.Plan(g, index, 0)
	}
	f.Plan(g, 0, 1)
	for _, c := range []struct{ index, lane, http, own int }{{0, 1, 4, 5}, {1, 0, 2, 3}, {0, 0, 1, 9000}} {
		if c.own < 9000 {
			c.own += port.FirstDynamic
		}
		cfg := alloc(g, c.index)
		if _, err := f.Give(cfg, c.lane); err != nil || cfg.Ports[0].Value != port.FirstDynamic+c.http || cfg.TaskPorts["t"][0].Value != c.own {
			t.Errorf("%+v: %v, %v, %v", c, cfg.Ports, cfg.TaskPorts, err)
		}
	}
}

// The static ports of a version are claimed once for all allocations, and
// released when no version needs them.
func TestReserve(t *testing.T) {
	t.Parallel()
	f, numbers := newPorts(t, port.NewClaims("")), unused(t, 3)
	first, second := newGroup(static("http", numbers[0]), nil), newGroup(static("http", numbers[0]), static("own", numbers[1]))
	if err := f.Reserve(newJob(first)); err != nil || !f.Reserved || f.Static() != 1 || f.by(numbers[0]) != "job.g[0]" {
		t.Fatalf("%d claimed by %q, %v", f.Static(), f.by(numbers[0]), err)
	}
	if err := f.Reserve(newJob(second)); err != nil || !slices.Equal(f.static, numbers[:2]) || f.by(numbers[1]) != "job.g[0]" {
		t.Errorf("claimed %v, want %v: %v", f.static, numbers[:2], err)
	}
	third := newGroup(static("new", numbers[2]), static("own", 1))
	if err := f.Claims.Adopt(1, "other.g[0]"); err != nil {
		t.Fatal(err)
	}
	want := `port "own" of group "g": static port 1 is in use by other.g[0]`
	if err := f.Reserve(newJob(third)); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if !slices.Equal(f.static, numbers[:2]) || f.by(numbers[2]) != "" {
		t.Errorf("after an error: claimed %v, and %d by %q", f.static, numbers[2], f.by(numbers[2]))
	}
	f.Excess = true
	f.KeepStatic(newJob(first))
	if !slices.Equal(f.static, numbers[:1]) || f.Excess || f.by(numbers[0]) == "" || f.by(numbers[1]) != "" {
		t.Errorf("claimed %v, want %v", f.static, numbers[:1])
	}
	f.ReleaseStatic(0)
	if f.Static() != 0 || f.by(numbers[0]) != "" {
		t.Errorf("claimed %v, and %d by %q", f.static, numbers[0], f.by(numbers[0]))
	}
}

// A static port of two allocations is an error, except on several machines.
func TestStaticPortOfTwoAllocations(t *testing.T) {
	t.Parallel()
	number := unused(t, 1)[0]
	g := newGroup(static("http", number), nil)
	g.Count = new(2)
	f := newPorts(t, port.NewClaims(""))
	want := fmt.Sprintf(`port "http" of group "g": static port %d is in use by job.g[0]`, number)
	if err := f.Reserve(newJob(g)); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if f.Static() != 0 || f.Reserved || f.by(number) != "" {
		t.Errorf("claimed %v", f.static)
	}
	f.static = []int{number} // which one allocation of an earlier version has
	if err := f.Reserve(newJob(g)); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	shared := newPorts(t, port.NewLogical())
	shared.Shared = true
	if err := shared.Reserve(newJob(g)); err != nil || shared.Static() != 1 {
		t.Errorf("claimed %v, %v", shared.static, err)
	}
}

// A new engine takes over the ports of the allocations that still run.
func TestAdopt(t *testing.T) {
	t.Parallel()
	f := newPorts(t, port.NewClaims(""))
	job := newJob(newGroup(static("http", 101), static("own", 102)))
	if err := f.Claims.Adopt(102, "other.g[0]"); err != nil {
		t.Fatal(err)
	}
	f.AdoptStatic(job)
	if !f.Reserved || !slices.Equal(f.static, []int{101}) || f.by(101) != "job.g[0]" {
		t.Errorf("claimed %v, reserved: %t", f.static, f.Reserved)
	}
	f.noted("job.g[0]: port 102 is in use by other.g[0]")
	cfg := alloc(job.TaskGroups[0], 0)
	cfg.Ports = []taskenv.Port{{Value: 101}, {Value: 103}}
	cfg.TaskPorts = map[string][]taskenv.Port{"t": {{Value: 102}, {Value: 104}}}
	if claimed := f.Adopt(cfg); !slices.Equal(claimed, []int{104, 103}) || f.by(103) != "job.g[0]" || f.by(104) != "job.g[0]" {
		t.Errorf("claimed %v", claimed)
	}
	f.noted("job.g[0]: port 102 is in use by other.g[0]")
}
