package docker

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/api/types/registry"

	"taskrun/drivers"
	"taskrun/jobspec/taskenv"
)

// An image is pulled when it is not there, may have changed, or must be; what
// is there is used where the registry cannot be reached.
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
		{strings.Replace(image, "%", "Not An Image", 1), false, false, false, "is no image"},
	} {
		e := newFakeEngine(t)
		name, _, _ := strings.Cut(c.config[strings.Index(c.config, `image = "`)+9:], `"`)
		e.images[name] = c.here
		e.pull = []string{`{"status":"Pulling fs layer","id":"a"}`, `{"status":"Pull complete","id":"a"}`}
		if c.fails {
			e.pull = append(e.pull, `{"errorDetail":{"message":"no such manifest"},"error":"no such manifest"}`)
		}
		d := e.driver(t)
		told := listen(t, d)
		cfg, _ := taskOf(t, d, c.config)
		_, _, err := d.StartTask(t.Context(), cfg)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || c.pulled != drivers.IsRecoverable(err)) {
			t.Errorf("%+v: %v", c, err)
		}
		if got := e.requests("POST /images/create"); len(got) > 0 != c.pulled {
			t.Errorf("%+v: pulled by %q", c, got)
		}
		if c.pulled {
			if e := told.await(t, "Downloading image"); e.Annotations["image"] != name {
				t.Errorf("%+v: told is %+v", c, e)
			}
		}
		if c.here && c.fails && c.want == "" {
			told.await(t, "Using the image "+name+" that is here: Failed to pull")
		}
		_ = d.DestroyTask(cfg.ID, true)
	}
}

// A pull that takes too long, at all or between two messages, fails for that
// reason, and so does one of a task that is not wanted any more.
func TestPullThatIsCutShort(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options  func(*options)
		unwanted bool
		want     string
	}{
		"all":      {options: func(o *options) { o.ImagePullTimeout = time.Millisecond }, want: "it took longer than the image_pull_timeout of 1ms"},
		"activity": {options: func(o *options) { o.PullActivityTimeout = time.Millisecond }, want: "nothing arrived for the pull_activity_timeout of 1ms"},
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

// An archive of the task brings its image; what is no regular file does not.
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
		{".", "", "is no regular file"},
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
	if err := start("/archive", "image:2"); err != nil {
		t.Error(err)
	}
	if err := drainMessages(strings.NewReader("nonsense")); err == nil {
		t.Error("nonsense was read")
	}
}

// Tasks that start together fetch an image once.
func TestImagesAreLocked(t *testing.T) {
	t.Parallel()
	var i images
	unlock, err := i.lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	other, err := i.lock(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	other()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no more"))
	if _, err := i.lock(ctx, "a"); err == nil || err.Error() != "no more" {
		t.Errorf("it was not locked: %v", err)
	}
	unlock()
	if unlock, err = i.lock(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestPullProgressOfLayers(t *testing.T) {
	t.Parallel()
	p := newProgress("image:1")
	if got := p.live(); got != (drivers.Progress{What: "image:1"}) {
		t.Errorf("at first %+v", got)
	}
	add := func(id, status string, current, total int64) {
		p.add(jsonstream.Message{ID: id, Status: status, Progress: &jsonstream.Progress{Current: current, Total: total}})
	}
	add("", "Pulling from image", 0, 0)
	add("a", "Pulling fs layer", 0, 0)
	add("b", "Waiting", 0, 0)
	add("c", "Already exists", 0, 0)
	if got := p.String(); got != "Pulled 1/3 (0B/0B) layers: 2 waiting/0 pulling" {
		t.Error(got)
	}
	add("a", "Downloading", 1024, 4096)
	p.add(jsonstream.Message{ID: "b", Status: "Downloading"})
	if got := p.String(); got != "Pulled 1/3 (1KiB/4KiB) layers: 0 waiting/2 pulling" {
		t.Error(got)
	}
	add("a", "Download complete", 0, 0)
	add("a", "Extracting", 1, 2)
	add("b", "Downloading", 1024, 2048)
	if got, want := p.live(), (drivers.Progress{What: "image:1", Done: 5120, Total: 6144, Detail: "2 of 3 layers"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The network of a group is a container, which is used again while it runs.
func TestNetworkOfAGroup(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.driver(t)
	req := &drivers.NetworkRequest{
		AllocID: "alloc", AllocDir: "/dir", Mode: "bridge", Hostname: "box",
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
		h.Memory != pauseMemory || h.MemorySwap != pauseMemory || c.Config.StopSignal != "SIGKILL" || c.Config.Labels[labelAlloc] != "alloc" || c.Config.Labels[labelDir] != "/dir" {
		t.Errorf("the container is %+v, %+v", c.Config, h)
	}
	if !slices.Equal(c.Config.Entrypoint, []string{"/pause"}) || c.Config.Image != "taskrun/pause:1-amd64" {
		t.Errorf("it runs %q of %q", c.Config.Entrypoint, c.Config.Image)
	}
	if again, err := d.CreateNetwork(t.Context(), req); err != nil || again.ID != n.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	e.set(func() { e.end(c) })
	e.await(t, func() bool { return !c.State.Running })
	cli, _ := d.connect()
	if !revive(t.Context(), cli, n) || revive(t.Context(), cli, n) || revive(t.Context(), cli, &drivers.NetworkIsolation{ID: "none"}) {
		t.Error("it is started again when it runs, or not when it has ended")
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

// A network that cannot be made leaves nothing behind.
func TestNetworkThatFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		request string
		status  int
		change  func(*drivers.NetworkRequest, *fakeEngine)
		want    string
	}{
		{"GET /version", 500, nil, "cannot ask the engine for its machine"},
		{"GET /images/", 500, nil, "cannot look for image taskrun/pause:1-amd64"},
		{"POST /images/create", 500, nil, "cannot make image taskrun/pause:1-amd64"},
		{"POST /containers/create", 500, nil, "cannot make the network of the group"},
		{"POST .*/start", 500, nil, "cannot make the network of the group"},
		{"GET /containers/0", 500, nil, "cannot make the network of the group"},
		{"none", 0, func(r *drivers.NetworkRequest, _ *fakeEngine) { r.DNS = &drivers.DNS{Servers: []string{"x"}} }, "dns servers"},
		{"none", 0, func(r *drivers.NetworkRequest, _ *fakeEngine) { r.Ports = []taskenv.Port{{Label: "p", HostIP: "x"}} }, `port "p" has an unusable address`},
		{"none", 0, func(_ *drivers.NetworkRequest, e *fakeEngine) { e.arch = "vax" }, `on a machine of kind "vax"`},
	} {
		e := newFakeEngine(t)
		e.answer(c.request, -1, c.status, "it is busy")
		req := &drivers.NetworkRequest{AllocID: "alloc", Mode: "bridge"}
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

// Containers of all runs are found, and removed by what was told of them.
func TestLeftoversWithoutAnEngine(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := New(Config{Host: e.host(), Run: "run"})
	var refs []string
	d.OnUse(func(ref string) { refs = append(refs, ref) })
	cfg, _ := ready(t, d)
	ready(t, d)
	if len(refs) != 1 || !strings.Contains(refs[0], `"run":"run"`) {
		t.Errorf("told is %q", refs)
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

// The look of an engine is undetected with the reason, or healthy.
func TestLookAtTheEngine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		request, text string
		status        int
		want          string
	}{
		{"none", "", 0, "Healthy"},
		{"GET /version", "", 500, "does not tell its version"},
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

// CPU times are those between two samples; memory is what either version of
// cgroups says.
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

// A sample that says nothing is none.
func TestStatsThatAreNone(t *testing.T) {
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

// The address of the engine is that of the options, of the environment, or of
// the context of the docker command.
func TestFindEngine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	const sum = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae" // of foo
	write("contexts/meta/"+sum+"/meta.json", `{"Endpoints":{"docker":{"Host":"tcp://foo:1"}}}`)
	const standard = "unix:///var/run/docker.sock"
	for _, c := range []struct {
		host, config string
		env          map[string]string
		want         string
	}{
		{host: "tcp://a:1", env: map[string]string{"DOCKER_HOST": "tcp://b:1"}, want: "tcp://a:1"},
		{env: map[string]string{"DOCKER_HOST": "tcp://b:1", "DOCKER_CONTEXT": "foo"}, want: "tcp://b:1"},
		{env: map[string]string{"DOCKER_CONTEXT": "foo"}, want: "tcp://foo:1"},
		{env: map[string]string{"DOCKER_CONTEXT": "bar"}, want: standard},
		{env: map[string]string{"DOCKER_CONTEXT": "default"}, config: `{"currentContext":"foo"}`, want: standard},
		{config: `{"currentContext":"foo"}`, want: "tcp://foo:1"},
		{config: `{"currentContext":"default"}`, want: standard},
		{config: `nonsense`, want: standard},
		{want: standard},
	} {
		if c.config != "" {
			write("config.json", c.config)
		} else {
			_ = os.Remove(filepath.Join(dir, "config.json"))
		}
		e := findEngine(c.host, nil, func(name string) string {
			if name == "DOCKER_CONFIG" {
				return dir
			}
			return c.env[name]
		})
		if e.Host != c.want || e.TLS != nil || !e.Verify {
			t.Errorf("%+v: %+v", c, e)
		}
	}
	env := map[string]string{"DOCKER_CERT_PATH": "/certs", "DOCKER_TLS_VERIFY": "1"}
	e := findEngine("tcp://a:1", nil, func(name string) string { return env[name] })
	if e.TLS == nil || e.TLS.Cert != "/certs/cert.pem" || e.TLS.Key != "/certs/key.pem" || e.TLS.CA != "/certs/ca.pem" || !e.Verify {
		t.Errorf("%+v, %+v", e, e.TLS)
	}
	delete(env, "DOCKER_TLS_VERIFY")
	if e := findEngine("tcp://a:1", nil, func(name string) string { return env[name] }); e.Verify {
		t.Error("the certificate of the engine is verified")
	}
	if e := findEngine("tcp://a:1", &tlsOptions{CA: "/ca"}, func(name string) string { return env[name] }); e.TLS.CA != "/ca" || !e.Verify {
		t.Errorf("%+v, %+v", e, e.TLS)
	}
	if got := configDir(func(name string) string { return map[string]string{"HOME": "/home/x"}[name] }); got != "/home/x/.docker" {
		t.Error(got)
	}
	for host, want := range map[string]string{"ssh://x": "must be on this machine", "nonsense": "cannot use the Docker engine"} {
		if _, err := (engine{Host: host}).client(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// What an engine did not answer, or only in part, may be answered later.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, context.DeadlineExceeded} {
		if got := engineError("cannot try", err); !drivers.IsRecoverable(got) || !strings.HasPrefix(got.Error(), "cannot try: ") {
			t.Errorf("%v: %v", err, got)
		}
	}
	if err := engineError("cannot try", errors.New("no")); drivers.IsRecoverable(err) || err.Error() != "cannot try: no" {
		t.Error(err)
	}
}

// Credentials are those of a helper, or of the file, in all their forms.
func TestFindAuth(t *testing.T) { // not parallel: helpers are found in PATH
	dir := t.TempDir()
	helper := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "docker-credential-"+name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	helper("yes", `read server; echo "{\"Username\":\"user\",\"Secret\":\"$server\"}"`)
	helper("token", `echo '{"Username":"<token>","Secret":"t"}'`)
	helper("none", "echo credentials not found in native keychain; exit 1")
	helper("fails", "echo it is locked >&2; exit 1")
	helper("leaks", `echo '{"Secret":"s3cret"}'; exit 1`)
	helper("nonsense", "echo nonsense")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	file := filepath.Join(dir, "config.json")
	for _, c := range []struct {
		config, image string
		want          registry.AuthConfig
		err           string
	}{
		{`{}`, "image", registry.AuthConfig{}, ""},
		{`nonsense`, "image", registry.AuthConfig{}, "cannot read"},
		{`{"credsStore":"yes"}`, "image", registry.AuthConfig{Username: "user", Password: hubAddress, ServerAddress: hubAddress}, ""},
		{`{"credsStore":"fails","credHelpers":{"r.example":"yes"}}`, "r.example/image", registry.AuthConfig{Username: "user", Password: "r.example", ServerAddress: "r.example"}, ""},
		{`{"credsStore":"token"}`, "r.example/image", registry.AuthConfig{IdentityToken: "t", ServerAddress: "r.example"}, ""},
		{`{"credsStore":"none","auths":{"https://r.example/v1/":{"auth":"dXNlcjpwYXNz"}}}`, "r.example/image", registry.AuthConfig{Username: "user", Password: "pass", ServerAddress: "r.example"}, ""},
		{`{"credsStore":"none"}`, "image", registry.AuthConfig{}, ""},
		{`{"credsStore":"fails"}`, "image", registry.AuthConfig{}, `credential helper "fails" failed for`},
		{`{"credsStore":"leaks"}`, "image", registry.AuthConfig{}, `credential helper "leaks" failed for`},
		{`{"credsStore":"nonsense"}`, "image", registry.AuthConfig{}, `credential helper "nonsense" gave no credentials`},
		{`{"auths":{"r.example":{"username":"u","password":"p"}}}`, "r.example/image", registry.AuthConfig{Username: "u", Password: "p", ServerAddress: "r.example"}, ""},
		{`{"auths":{"other.example":{"username":"u"}}}`, "r.example/image", registry.AuthConfig{}, ""},
		{`{"auths":{"https://index.docker.io/v1/":{"username":"u"}}}`, "image", registry.AuthConfig{Username: "u", ServerAddress: hubAddress}, ""},
		{`{"auths":{"r.example":{"auth":"!"}}}`, "r.example/image", registry.AuthConfig{}, "unreadable credentials"},
		{`{"auths":{"r.example":{"auth":"dXNlcg=="}}}`, "r.example/image", registry.AuthConfig{}, "unreadable credentials"},
		{`{}`, "Not An Image", registry.AuthConfig{}, "invalid reference"},
	} {
		if err := os.WriteFile(file, []byte(c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		o := &options{Auth: &authOptions{Config: file}}
		got, err := o.findAuth(t.Context(), c.image)
		if c.err == "" && (err != nil || got != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %+v, %v", c.config, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", c.config, err)
		}
	}
	if _, err := (&options{Auth: &authOptions{Config: dir + "/none"}}).authConfig(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the file: %v", err)
	}
	if got, err := (&options{Auth: &authOptions{Helper: "yes"}}).authConfig(); err != nil || got.CredsStore != "yes" {
		t.Errorf("the helper is %+v, %v", got, err)
	}
	t.Setenv("DOCKER_CONFIG", dir)
	for _, o := range []*options{{}, {Auth: &authOptions{}}} {
		if got, err := o.authConfig(); err != nil || got == nil {
			t.Errorf("that of the docker command: %+v, %v", got, err)
		}
	}
	d := New(Config{})
	d.options.Auth = &authOptions{Helper: "fails"}
	if got, err := d.options.authFor(t.Context(), &taskConfig{Image: "image"}); got != "" || err == nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := d.options.authFor(t.Context(), &taskConfig{Image: "image", AuthSoftFail: true}); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := d.options.authFor(t.Context(), &taskConfig{Image: "image", Auth: &authConfig{Username: "u", Password: "p"}}); got == "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
