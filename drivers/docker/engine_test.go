package docker

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
	"taskrun/drivers/docker/settings"
	"taskrun/jobspec/taskenv"
)

// An image is pulled if it is missing, may have changed, or with force_pull; a
// local one is used if the registry is unreachable.
func TestImages(t *testing.T) {
	t.Parallel()
	const image = "image = \"%\"\ncommand = \"/bin/true\"\n"
	for _, c := range []struct {
		config string
		here   bool
		fails  bool
		pulled bool
		want   string
	}{
		{strings.Replace(image, "%", "image:1", 1), true, false, false, ""},
		{strings.Replace(image, "%", "image:2", 1), false, false, true, ""},
		{strings.Replace(image, "%", "image:2", 1), false, true, true, "Failed to pull `image:2`"},
		{strings.Replace(image, "%", "image", 1), true, false, true, ""},
		{strings.Replace(image, "%", "image", 1), true, true, true, ""},
		{strings.Replace(image, "%", "image:latest", 1), true, false, true, ""},
		{"force_pull = true\n" + strings.Replace(image, "%", "image:1", 1), true, true, true, "Failed to pull `image:1`"},
		{strings.Replace(image, "%", "Not An Image", 1), false, false, false, "is not an image"},
	} {
		e := newFakeEngine(t)
		name, _, _ := strings.Cut(c.config[strings.Index(c.config, `image = "`)+9:], `"`)
		e.images[name] = c.here
		e.pull = []string{`{"status":"Pulling fs layer","id":"a"}`, `{"status":"Pull complete","id":"a"}`}
		if c.fails {
			e.pull = append(e.pull, `{"errorDetail":{"message":"no such manifest"},"error":"no such manifest"}`)
		}
		d := e.driver(t)
		events := listen(t, d)
		cfg, _ := taskOf(t, d, c.config)
		_, _, err := d.StartTask(t.Context(), cfg)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || c.pulled != drivers.IsRecoverable(err)) {
			t.Errorf("%+v: %v", c, err)
		}
		if got := e.requests("POST /images/create"); len(got) > 0 != c.pulled {
			t.Errorf("%+v: pulled by %q", c, got)
		}
		if c.pulled {
			if e := events.await(t, "Downloading image"); e.Annotations["image"] != name {
				t.Errorf("%+v: the event is %+v", c, e)
			}
		}
		if c.here && c.fails && c.want == "" {
			events.await(t, "Using the image "+name+" that is here: Failed to pull")
		}
		_ = d.DestroyTask(cfg.ID, true)
	}
}

// A pull that takes too long, in total or between two messages, fails for that
// reason, and so does one for a task that is being stopped.
func TestPullIsCanceled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options  func(*settings.Options)
		unwanted bool
		want     string
	}{
		"all":      {options: func(o *settings.Options) { o.ImagePullTimeout = time.Millisecond }, want: "it took longer than the image_pull_timeout of 1ms"},
		"activity": {options: func(o *settings.Options) { o.PullActivityTimeout = time.Millisecond }, want: "nothing arrived for the pull_activity_timeout of 1ms"},
		"unwanted": {unwanted: true, want: drivers.ErrUnwanted.Error()},
	} {
		e := newFakeEngine(t)
		held := make(chan struct{})
		e.hold = held
		d := e.driver(t)
		if c.options != nil {
			c.options(&d.options)
		}
		cfg, _ := taskOf(t, d, "image = \"image:2\"\n")
		if c.unwanted {
			unwanted := make(chan struct{})
			close(unwanted)
			cfg.Unwanted = unwanted
		}
		if _, _, err := d.StartTask(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		close(held)
	}
}

// An archive of the task provides its image, unless it is not a regular file.
func TestLoadWithoutAnEngine(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.driver(t)
	start := func(load string, text string) error {
		t.Helper()
		cfg, _ := taskOf(t, d, "image = \"image:2\"\ncommand = \"/bin/true\"\nload = \""+load+"\"\n")
		if text != "" {
			if err := os.WriteFile(filepath.Join(cfg.TaskDir(), "local", "archive"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, _, err := d.StartTask(t.Context(), cfg)
		if err == nil {
			_ = d.DestroyTask(cfg.ID, true)
		}
		return err
	}
	for _, c := range []struct{ load, text, want string }{
		{"none", "", `cannot load image "image:2"`},
		{"../../task", "", `cannot load image "image:2"`},
		{".", "", "is not a regular file"},
		{"archive", "image:3", `image "image:2" is not in "archive"`},
	} {
		if err := start(c.load, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	e.answer("POST /images/load", 1, 500, "no space")
	if err := start("archive", "image:2"); err == nil || !strings.Contains(err.Error(), `cannot load image "image:2" from "archive"`) {
		t.Error(err)
	}
	e.answer("POST /images/load", 1, 200, `{"errorDetail":{"message":"no tar"}}`)
	if err := start("archive", "image:2"); err == nil || !strings.Contains(err.Error(), "no tar") {
		t.Error(err)
	}
	e.answer("POST /images/load", 1, 200, "nonsense")
	if err := start("archive", "image:2"); err == nil || !strings.Contains(err.Error(), "cannot load image") {
		t.Errorf("nonsense was read: %v", err)
	}
	if err := start("/archive", "image:2"); err != nil {
		t.Error(err)
	}
}

// The network of a group is a container, which is reused while it is running.
func TestNetworkOfAGroup(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d, dir := e.driver(t), filepath.Join(t.TempDir(), "alloc")
	req := &drivers.NetworkRequest{
		AllocID: "alloc", AllocDir: dir, Mode: "bridge", Hostname: "box",
		Ports: []taskenv.Port{{Label: "http", Value: 8080, To: 80, HostIP: "127.0.0.1"}},
		DNS:   &drivers.DNS{Servers: []string{"192.0.2.1"}, Searches: []string{"example"}, Options: []string{"ndots:1"}},
	}
	n, err := d.CreateNetwork(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	c := e.only(t)
	want := drivers.NetworkIsolation{Driver: "docker", ID: c.ID, Hostname: "box", Interface: "eth0", IP: "172.17.0.2", Gateway: "172.17.0.1"}
	if n.Driver != want.Driver || n.ID != want.ID || n.Hostname != want.Hostname || n.Interface != want.Interface || n.IP != want.IP || n.Gateway != want.Gateway {
		t.Errorf("got %+v, want %+v", n, want)
	}
	h := c.HostConfig
	if c.Name != "/nomad_init_alloc" || h.NetworkMode != "bridge" || len(h.DNS) != 1 || h.DNSSearch[0] != "example" || h.DNSOptions[0] != "ndots:1" || len(h.PortBindings) != 2 ||
		h.Memory != 8<<20 || h.MemorySwap != 8<<20 || c.Config.StopSignal != "SIGKILL" || c.Config.Labels[daemon.LabelAlloc] != "alloc" || c.Config.Labels[daemon.LabelDir] != dir {
		t.Errorf("the container is %+v, %+v", c.Config, h)
	}
	if !slices.Equal(c.Config.Entrypoint, []string{"/pause"}) || c.Config.Image != "taskrun/pause:2-amd64" {
		t.Errorf("it runs %q of %q", c.Config.Entrypoint, c.Config.Image)
	}
	if again, err := d.CreateNetwork(t.Context(), req); err != nil || again.ID != n.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	e.set(func() { e.end(c) })
	e.await(t, func() bool { return !c.State.Running })
	cli, _ := d.connect()
	for _, c := range []struct {
		id     string
		before int
		want   bool
	}{{n.ID, 0, true}, {n.ID, 0, true}, {n.ID, 1, false}, {"none", 0, false}} {
		if got, err := d.revive(t.Context(), cli, &drivers.NetworkIsolation{ID: c.id}, c.before); got != c.want || err != nil {
			t.Errorf("after %d restarts of %.12q: %t, %v", c.before, c.id, got, err)
		}
	}
	e.set(func() { e.end(c) })
	e.await(t, func() bool { return !c.State.Running })
	if n, err = d.CreateNetwork(t.Context(), req); err != nil || n.ID == c.ID || e.count() != 1 {
		t.Errorf("another: %+v, %v, %d containers", n, err, e.count())
	}
	if len(e.requests("POST /images/create")) != 1 {
		t.Errorf("its image is made by %q", e.requests("POST /images/create"))
	}
	if err := errors.Join(d.DestroyNetwork(t.Context(), n), d.DestroyNetwork(t.Context(), n)); err != nil || e.count() != 0 {
		t.Errorf("%v, %d containers", err, e.count())
	}
	e.answer("DELETE", 1, 500, "it is busy")
	if err := d.DestroyNetwork(t.Context(), n); err == nil || !strings.Contains(err.Error(), "cannot remove the network of the group") {
		t.Error(err)
	}
}

// A failed creation of a network leaves nothing behind.
func TestNetworkFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		request string
		status  int
		change  func(*drivers.NetworkRequest, *fakeEngine)
		want    string
	}{
		{"none", 0, func(r *drivers.NetworkRequest, _ *fakeEngine) { r.AllocDir = "/missing/dir" }, `cannot make staging directory "/missing/.staging-dir"`},
		{"GET /version", 500, nil, "cannot ask the engine for its machine"},
		{"GET /images/", 500, nil, "cannot look for image taskrun/pause:2-amd64"},
		{"POST /images/create", 500, nil, "cannot make image taskrun/pause:2-amd64"},
		{"POST /containers/create", 500, nil, "cannot make the network of the group"},
		{"POST .*/start", 500, nil, "cannot make the network of the group"},
		{"GET /containers/0", 500, nil, "cannot make the network of the group"},
		{"none", 0, func(r *drivers.NetworkRequest, _ *fakeEngine) { r.DNS = &drivers.DNS{Servers: []string{"x"}} }, "dns servers"},
		{"none", 0, func(r *drivers.NetworkRequest, _ *fakeEngine) { r.Ports = []taskenv.Port{{Label: "p", HostIP: "x"}} }, `port "p" has an unusable address`},
		{"none", 0, func(_ *drivers.NetworkRequest, e *fakeEngine) { e.arch = "vax" }, `on a machine of kind "vax"`},
	} {
		e := newFakeEngine(t)
		e.answer(c.request, -1, c.status, "it is busy")
		req := &drivers.NetworkRequest{AllocID: "alloc", AllocDir: filepath.Join(t.TempDir(), "alloc"), Mode: "bridge"}
		if c.change != nil {
			c.change(req, e)
		}
		if n, err := e.driver(t).CreateNetwork(t.Context(), req); n != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", c.request, n, err)
		}
		if e.count() > 0 {
			t.Errorf("%s: a container is left", c.request)
		}
	}
	e := newFakeEngine(t)
	n, err := e.driver(t).CreateNetwork(t.Context(), &drivers.NetworkRequest{AllocID: "alloc", Mode: "none", Ports: []taskenv.Port{{HostIP: "x"}}})
	if err != nil || n.IP != "" || n.Interface != "" {
		t.Errorf("none: %+v, %v", n, err)
	}
}

// Containers of all runs are found, and removed with the reference of OnUse.
func TestLeftoversWithoutAnEngine(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := New(Config{Host: e.host(), Run: "run"})
	var refs []string
	d.OnUse(func(ref string) { refs = append(refs, ref) })
	cfg, _ := ready(t, d)
	ready(t, d)
	if len(refs) != 1 || !strings.Contains(refs[0], `"run":"run"`) {
		t.Errorf("the lines are %q", refs)
	}
	other := e.driver(t)
	left, err := other.Leftovers(t.Context())
	i := slices.IndexFunc(left, func(l drivers.Leftover) bool { return l.AllocDir == cfg.AllocDir })
	if err != nil || len(left) != 2 || i < 0 || left[i].Name != "task-"+cfg.AllocID {
		t.Fatalf("left are %+v, %v", left, err)
	}
	if err := other.RemoveLeftover(t.Context(), left[i]); err != nil || e.count() != 1 {
		t.Errorf("%v, left %d", err, e.count())
	}
	if err := other.CleanUp(t.Context(), refs[0]); err != nil || e.count() != 0 {
		t.Errorf("%v, left %d", err, e.count())
	}
	for _, ref := range []string{"nonsense", `{"run":""}`, `{"run":"x","engine":{"host":"ssh://x"}}`} {
		if err := other.CleanUp(t.Context(), ref); err == nil {
			t.Errorf("cleaned up by %q", ref)
		}
	}
	e.answer("GET /containers/json", 1, 500, "it is busy")
	if _, err := other.Leftovers(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot list the containers of taskrun") {
		t.Error(err)
	}
}

// The fingerprint is undetected with a reason, or healthy.
func TestLookAtTheEngine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		request, text string
		status        int
		want          string
	}{
		{"none", "", 0, "Healthy"},
		{"GET /version", "", 500, "for its version"},
		{"GET /version", `{"Os":"windows"}`, 200, `runs containers of "windows", not of Linux`},
		{".*/_ping", "", 0, "start Docker or set DOCKER_HOST"},
	} {
		e := newFakeEngine(t)
		e.answer(c.request, -1, c.status, c.text)
		got := e.driver(t).look(t.Context())
		if healthy := c.want == "Healthy"; !strings.Contains(got.HealthDescription, c.want) || healthy != (got.Health == drivers.HealthHealthy) || healthy != (got.Attributes["driver.docker.version"] == "28.0.0") {
			t.Errorf("%s: %+v", c.request, got)
		}
	}
}

// CPU times are those between two samples; memory has the values of either
// version of cgroups.
func TestUsageOf(t *testing.T) {
	t.Parallel()
	begin := time.Unix(100, 0)
	s, last := &container.StatsResponse{Read: begin.Add(2 * time.Second)}, &container.StatsResponse{Read: begin}
	last.CPUStats.CPUUsage = container.CPUUsage{TotalUsage: 1e9, UsageInKernelmode: 5e8, UsageInUsermode: 5e8}
	s.CPUStats.CPUUsage = container.CPUUsage{TotalUsage: 2e9, UsageInKernelmode: 1e9, UsageInUsermode: 1e8}
	s.PidsStats.Current = 3
	s.MemoryStats = container.MemoryStats{Usage: 9, MaxUsage: 10, Stats: map[string]uint64{"anon": 4, "file": 5, "cache": 6, "swap": 7}}
	u := usageOf(s, last)
	cpu, memory := u.ResourceUsage.CpuStats, u.ResourceUsage.MemoryStats
	if cpu.Percent != 50 || cpu.SystemMode != 25 || cpu.UserMode != 0 || u.Processes != 3 || u.Timestamp != s.Read.UnixNano() {
		t.Errorf("CPU %+v, %d processes at %d", cpu, u.Processes, u.Timestamp)
	}
	if memory.RSS != 4 || memory.Cache != 5 || memory.Swap != 0 || memory.Usage != 9 || slices.Contains(memory.Measured, drivers.MeasuredMaxUsage) {
		t.Errorf("memory %+v", memory)
	}
	s.MemoryStats.Stats["rss"] = 0
	memory = usageOf(s, s).ResourceUsage.MemoryStats
	if memory.RSS != 0 || memory.Cache != 6 || memory.Swap != 7 || memory.MaxUsage != 10 || !slices.Contains(memory.Measured, drivers.MeasuredMaxUsage) {
		t.Errorf("memory %+v", memory)
	}
	if cpu := usageOf(s, s).ResourceUsage.CpuStats; cpu.Percent != 0 {
		t.Errorf("in no time %v %%", cpu.Percent)
	}
}

// An empty sample is ignored.
func TestEmptyStats(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.driver(t)
	cfg, _ := ready(t, d)
	task, err := d.tasks.Get(cfg.ID)
	if err != nil {
		t.Fatal(err)
	}
	if u := task.usage(t.Context()); u == nil || u.Processes != 1 {
		t.Errorf("it uses %+v", u)
	}
	for _, text := range []string{"nonsense", `{"pids_stats":{"current":1}}`} {
		e.stats = text
		if u := task.usage(t.Context()); u != nil {
			t.Errorf("%q: it uses %+v", text, u)
		}
	}
	e.answer("GET .*/stats", -1, 500, "it is busy")
	if u := task.usage(t.Context()); u != nil {
		t.Errorf("it uses %+v", u)
	}
}
