package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
	"taskrun/jobspec/taskenv"
)

// TestContainerConfig checks every option that is passed on unchanged. It needs
// no engine.
func TestContainerConfig(t *testing.T) {
	t.Parallel()
	b := &Builder{Options: &Options{}, Run: "run"}
	cfg := &drivers.TaskConfig{ID: "id", Name: "task", AllocID: "alloc", AllocDir: "/dir", User: "1000:100", Env: map[string]string{"B": "2", "A": "1"}}
	c := &Config{
		Common:  Common{Image: "image:1", Hostname: "box", TTY: true, Labels: []map[string]string{{"tier": "front", daemon.LabelAlloc: "forged"}}},
		WorkDir: "/work", Entrypoint: []string{"/entry", "-x"}, Interactive: true,
	}
	want := &container.Config{
		Image: "image:1", User: "1000:100", WorkingDir: "/work", Hostname: "box", Entrypoint: []string{"/entry", "-x"},
		Tty: true, OpenStdin: true, Env: []string{"A=1", "B=2"},
		Labels: map[string]string{
			"tier": "front", "com.hashicorp.nomad.alloc_id": "alloc",
			"taskrun.run": "run", "taskrun.task": "id", "taskrun.alloc_dir": "/dir",
		},
	}
	if diff := cmp.Diff(want, b.containerConfig(cfg, c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestContainerName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"a.b-c_D9": "a.b-c_D9-x", "_.-web": "web-x", "azAZ09 b/ü": "azAZ09_b__-x"} {
		if got := ContainerName(name, "x"); got != want {
			t.Errorf("task %q has container %q", name, got)
		}
	}
}

// TestContainerCommand checks which parts of the image's command a task
// replaces.
func TestContainerCommand(t *testing.T) {
	t.Parallel()
	b := &Builder{Options: &Options{}}
	for _, c := range []struct {
		config          Config
		entrypoint, cmd []string
	}{
		{Config{}, nil, nil},
		{Config{Common: Common{Command: "c"}}, nil, []string{"c"}},
		{Config{Common: Common{Args: []string{"a", "b"}}}, nil, []string{"a", "b"}},
		{Config{Common: Common{Command: "c", Args: []string{"a"}}}, nil, []string{"c", "a"}},
		{Config{Entrypoint: []string{"e"}}, []string{"e"}, nil},
		{Config{Common: Common{Command: "c", Args: []string{"a"}}, Entrypoint: []string{"e"}}, []string{"e"}, []string{"c", "a"}},
	} {
		got := b.containerConfig(&drivers.TaskConfig{}, &c.config)
		if !slices.Equal(got.Entrypoint, c.entrypoint) || !slices.Equal(got.Cmd, c.cmd) {
			t.Errorf("%+v: entrypoint %q, command %q", c.config, got.Entrypoint, got.Cmd)
		}
	}
}

// TestCommandWithSpaces checks that it is refused.
func TestCommandWithSpaces(t *testing.T) {
	t.Parallel()
	for _, command := range []string{" true", "true ", " "} {
		_, err := new(Builder).Container(&drivers.TaskConfig{}, &Config{Common: Common{Command: command}})
		if err == nil || !strings.Contains(err.Error(), "command contains extra white space") {
			t.Errorf("%q: %v", command, err)
		}
	}
}

// TestCapabilities checks the additions to the engine's own list and the
// removals: Nomad's default list lacks NET_RAW.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allow, add, drop, want []string
	}{
		{want: []string{"NET_RAW"}},
		{drop: []string{"chown"}, want: []string{"chown", "NET_RAW"}},
		{add: []string{"net_admin"}, want: []string{"NET_RAW"}},
		{add: []string{" cap_net_raw"}},
		{add: []string{"all"}}, // otherwise the engine would remove it from all
		{add: []string{"chown"}, drop: []string{"ALL"}, want: []string{"ALL", "NET_RAW"}},
		{allow: []string{"all"}},
		{allow: slices.Concat(ordinaryCaps, []string{"sys_time"})},
		{allow: ordinaryCaps[:len(ordinaryCaps)-1], want: []string{"SYS_CHROOT"}},
	} {
		o := Options{AllowCaps: c.allow}
		if got := append(slices.Clone(c.drop), o.deniedCaps(c.add)...); !slices.Equal(got, c.want) {
			t.Errorf("allow %q, add %q, drop %q: dropped %q, want %q", c.allow, c.add, c.drop, got, c.want)
		}
	}
}

// TestFilesInAGroup checks /etc/hosts and /etc/resolv.conf of a task that
// shares its group's network. It needs no engine.
func TestFilesInAGroup(t *testing.T) {
	t.Parallel()
	cfg := &drivers.TaskConfig{
		Name: "task", AllocDir: t.TempDir(),
		Network: &drivers.NetworkIsolation{ID: "pause", IP: "172.17.0.2", Gateway: "172.17.0.1", Hostname: "web"},
	}
	c := &Config{
		Common:     Common{ExtraHosts: []string{"db:10.0.0.2", "six:[fd00::1]", "host:host-gateway"}},
		DNSServers: []string{"10.0.0.53", "10.0.1.53"}, DNSSearchDomains: []string{"example.com", "example.org"}, DNSOptions: []string{"ndots:2", "rotate"},
	}
	config, host := &container.Config{Hostname: "box"}, &container.HostConfig{}
	if endpoints, err := c.connect(cfg, config, host); err != nil || endpoints != nil {
		t.Fatalf("endpoints %v, %v", endpoints, err)
	}
	if config.Hostname != "" || host.NetworkMode != "container:pause" || len(host.ExtraHosts)+len(host.DNS) > 0 {
		t.Errorf("hostname %q, mode %q, hosts %q, DNS %v", config.Hostname, host.NetworkMode, host.ExtraHosts, host.DNS)
	}
	private := filepath.Join(cfg.TaskDir(), "private")
	files := map[string]string{
		"/etc/hosts": "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n" +
			"fe00::0 ip6-localnet\nff00::0 ip6-mcastprefix\nff02::1 ip6-allnodes\nff02::2 ip6-allrouters\n172.17.0.2 web\n" +
			"10.0.0.2 db\nfd00::1 six\n172.17.0.1 host\n",
		"/etc/resolv.conf": "nameserver 10.0.0.53\nnameserver 10.0.1.53\nsearch example.com example.org\noptions ndots:2 rotate\n",
	}
	if len(host.Mounts) != len(files) {
		t.Errorf("mounts: %+v", host.Mounts)
	}
	for _, m := range host.Mounts {
		text, err := os.ReadFile(m.Source)
		if err != nil || m.Type != mount.TypeBind || filepath.Dir(m.Source) != private || string(text) != files[m.Target] {
			t.Errorf("%+v: %q, %v", m, text, err)
		}
	}
}

// TestFilesOfTheGroup checks that they stay in place for a task without such
// options, and that the group's DNS has precedence.
func TestFilesOfTheGroup(t *testing.T) {
	t.Parallel()
	cfg := &drivers.TaskConfig{AllocDir: t.TempDir(), Network: &drivers.NetworkIsolation{ID: "pause"}}
	host := &container.HostConfig{}
	if err := new(Config).resolveInGroup(cfg, host); err != nil || len(host.Mounts) > 0 {
		t.Errorf("without options: %+v, %v", host.Mounts, err)
	}
	cfg.DNS = &drivers.DNS{Servers: []string{"10.0.0.1"}}
	c := &Config{DNSServers: []string{"10.0.0.2"}}
	if err := c.resolveInGroup(cfg, host); err != nil || len(host.Mounts) > 0 {
		t.Errorf("with the group's DNS: %+v, %v", host.Mounts, err)
	}
	for _, entry := range []string{"alone", ":10.0.0.1", "name:", "gateway:host-gateway"} {
		c := &Config{Common: Common{ExtraHosts: []string{entry}}}
		if err := c.resolveInGroup(cfg, host); err == nil || !strings.Contains(err.Error(), entry) {
			t.Errorf("%q: %v", entry, err)
		}
	}
	for dns, want := range map[*drivers.DNS]string{
		{Servers: []string{"10.0.0.1"}}:   "nameserver 10.0.0.1\n",
		{Searches: []string{"a.example"}}: "search a.example\n",
		{Options: []string{"rotate"}}:     "options rotate\n",
	} {
		if got := resolvConf(*dns); got != want {
			t.Errorf("%+v: %q, want %q", *dns, got, want)
		}
	}
}

// The container that holds the network of a group forwards its ports, unless it has
// no network.
func TestGroup(t *testing.T) {
	t.Parallel()
	b := &Builder{Options: &Options{}, Run: "run"}
	port := []taskenv.Port{{Label: "http", Value: 20000, To: 80, HostIP: "127.0.0.1"}}
	dns := &drivers.DNS{Servers: []string{"10.0.0.53"}, Searches: []string{"a.example"}, Options: []string{"rotate"}}
	made, err := b.Group(&drivers.NetworkRequest{AllocID: "id", AllocDir: "/runs/r/allocs/id", Mode: "bridge", Hostname: "web", Ports: port, DNS: dns}, "/sockets")
	if err != nil {
		t.Fatal(err)
	}
	config, host := made.Config, made.HostConfig
	if made.Name != "nomad_init_id" || config.Hostname != "web" || config.StopSignal != "SIGKILL" || host.NetworkMode != "bridge" || host.LogConfig.Type != "none" ||
		host.Memory != 8<<20 || host.MemorySwap != 8<<20 || len(config.ExposedPorts) != 2 || len(host.PortBindings) != 2 {
		t.Errorf("%+v, %+v, %+v", made, config, host)
	}
	labels := map[string]string{daemon.LabelAlloc: "id", daemon.LabelRun: "run", daemon.LabelDir: "/runs/r/allocs/id"}
	mounts := []mount.Mount{{Type: "bind", Source: "/sockets", Target: "/net"}}
	if diff := cmp.Diff([]any{labels, mounts, dns.Searches, dns.Options, "[10.0.0.53]"}, []any{config.Labels, host.Mounts, host.DNSSearch, host.DNSOptions, fmt.Sprint(host.DNS)}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	made, err = b.Group(&drivers.NetworkRequest{Mode: "none", Ports: port}, "")
	if err != nil || len(made.HostConfig.Mounts) != 0 || len(made.Config.ExposedPorts) != 0 {
		t.Errorf("without a network: %+v, %v", made.HostConfig, err)
	}
	made, err = b.Group(&drivers.NetworkRequest{Name: "my net", AllocDir: "/runs/r/allocs/id", Mode: "bridge"}, "")
	other, otherErr := b.Group(&drivers.NetworkRequest{Name: "my net", AllocDir: "/runs/r/allocs/id2", Mode: "bridge"}, "")
	if mode := made.HostConfig.NetworkMode; err != nil || otherErr != nil || !strings.HasPrefix(string(mode), "taskrun-my_net-") || mode != other.HostConfig.NetworkMode {
		t.Errorf("of a run: %s, %s, %v, %v", mode, other.HostConfig.NetworkMode, err, otherErr)
	}
	for want, req := range map[string]*drivers.NetworkRequest{
		`dns servers: invalid ip dns server: "x"`: {Mode: "bridge", DNS: &drivers.DNS{Servers: []string{"x"}}},
		`port "http" has an unusable address`:     {Mode: "bridge", Ports: []taskenv.Port{{Label: "http"}}},
	} {
		if made, err := b.Group(req, ""); err == nil || !strings.HasPrefix(err.Error(), want) || made.Config != nil {
			t.Errorf("%+v, %v, want %s", made, err, want)
		}
	}
}

// TestLogging checks where the engine keeps output, and when it cannot return
// it.
func TestLogging(t *testing.T) {
	t.Parallel()
	standard := container.LogConfig{Type: "json-file", Config: map[string]string{"max-file": "2", "max-size": "2m"}}
	size := []map[string]string{{"max-size": "1m"}}
	local := &LogOptions{Type: "local", Config: size[0]}
	for _, c := range []struct {
		task   *Logging
		plugin *LogOptions
		want   container.LogConfig
		mute   bool
	}{
		{want: standard},
		{task: &Logging{}, want: standard},
		{task: &Logging{}, plugin: local, want: container.LogConfig{Type: "local", Config: size[0]}},
		{task: &Logging{Type: "json-file"}, plugin: local, want: container.LogConfig{Type: "json-file"}},
		{task: &Logging{Config: size}, want: container.LogConfig{Config: size[0]}}, // the engine's default type
		{task: &Logging{Driver: "syslog"}, want: container.LogConfig{Type: "syslog"}},
		{task: &Logging{Type: "none", Driver: "local"}, want: container.LogConfig{Type: "none"}, mute: true},
		{plugin: &LogOptions{Type: "none"}, want: container.LogConfig{Type: "none"}, mute: true},
		{
			task: &Logging{Type: "gelf", Config: []map[string]string{{"cache-disabled": "true"}}},
			want: container.LogConfig{Type: "gelf", Config: map[string]string{"cache-disabled": "true"}}, mute: true,
		},
		{
			task: &Logging{Type: "local", Config: []map[string]string{{"cache-disabled": "true"}}},
			want: container.LogConfig{Type: "local", Config: map[string]string{"cache-disabled": "true"}},
		},
	} {
		got := (&Builder{Options: &Options{Logging: c.plugin}}).logConfig(c.task)
		if diff := cmp.Diff(c.want, got); diff != "" || new(Options).Mute(got) != c.mute {
			t.Errorf("%+v, %+v: mute %t (-want +got):\n%s", c.task, c.plugin, new(Options).Mute(got), diff)
		}
	}
}

// TestResources checks the limits of a container; devices and ulimits are
// checked with an engine.
func TestResources(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		granted             drivers.Resources
		hard                int64 // MiB
		memory, reservation int64 // MiB
		err                 string
	}{
		"nothing":             {},
		"memory":              {drivers.Resources{MemoryMB: 20}, 0, 20, 0, ""},
		"hard limit":          {drivers.Resources{MemoryMB: 20}, 30, 30, 20, ""},
		"memory_max":          {drivers.Resources{MemoryMB: 20, MemoryMaxMB: 40}, 0, 40, 20, ""},
		"the larger":          {drivers.Resources{MemoryMB: 20, MemoryMaxMB: 40}, 30, 40, 20, ""},
		"no limit":            {drivers.Resources{MemoryMB: 20, MemoryMaxMB: -1}, 30, 0, 20, ""},
		"hard limit too low":  {drivers.Resources{MemoryMB: 20}, 10, 10, 20, "task memory requirements exceed driver hard limit of 10 MB"},
		"but memory_max does": {drivers.Resources{MemoryMB: 20, MemoryMaxMB: 20}, 10, 20, 20, ""},
	} {
		r, err := resources(&drivers.TaskConfig{Resources: c.granted}, &Config{MemoryHardLimit: c.hard})
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: the error is %v", name, err)
			}
			continue
		}
		if err != nil || r.Memory != c.memory<<20 || r.MemoryReservation != c.reservation<<20 || r.MemorySwap != r.Memory {
			t.Errorf("%s: %d, reserved %d, with swap %d, %v", name, r.Memory, r.MemoryReservation, r.MemorySwap, err)
		}
	}
	cfg := &drivers.TaskConfig{Resources: drivers.Resources{CPU: 3000, Cores: []int{1, 3}}}
	if r, err := resources(cfg, &Config{}); err != nil || r.CpusetCpus != "1,3" || r.CPUQuota != 0 {
		t.Errorf("with cores: %q, quota %d, %v", r.CpusetCpus, r.CPUQuota, err)
	}
	if r, err := resources(cfg, &Config{CpusetCPUs: "0"}); err != nil || r.CpusetCpus != "0" {
		t.Errorf("with cores and cpuset_cpus: %q, %v", r.CpusetCpus, err)
	}
}

// The limits of memory, CPU and processes in a config block count besides the
// task's resources.
func TestResourcesOfTheConfigBlock(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, tt := range map[string]struct {
		granted           drivers.Resources
		config            Config
		reservation, swap int64
		err               string
	}{
		"a reservation of its own":       {drivers.Resources{MemoryMB: 20}, Config{Extra: Extra{MemoryReservation: 10 * mib}}, 10 * mib, 20 * mib, ""},
		"as much as the memory":          {drivers.Resources{MemoryMB: 20}, Config{Extra: Extra{MemoryReservation: 20 * mib}}, 20 * mib, 20 * mib, ""},
		"more than the memory":           {drivers.Resources{MemoryMB: 20}, Config{Extra: Extra{MemoryReservation: 20*mib + 1}}, 0, 0, "memory_reservation is more than the task's memory of 20 MiB"},
		"less than that of the job":      {drivers.Resources{MemoryMB: 20, MemoryMaxMB: 40}, Config{Extra: Extra{MemoryReservation: 10 * mib}}, 10 * mib, 40 * mib, ""},
		"more than that of the job":      {drivers.Resources{MemoryMB: 20, MemoryMaxMB: 40}, Config{Extra: Extra{MemoryReservation: 30 * mib}}, 20 * mib, 40 * mib, ""},
		"any swap":                       {drivers.Resources{MemoryMB: 20}, Config{Extra: Extra{MemorySwap: -1}}, 0, -1, ""},
		"some swap":                      {drivers.Resources{MemoryMB: 20}, Config{Extra: Extra{MemorySwap: 30 * mib}}, 0, 30 * mib, ""},
		"swap, and memory without limit": {drivers.Resources{MemoryMB: 20, MemoryMaxMB: -1}, Config{Extra: Extra{MemorySwap: -1, MemoryReservation: 30 * mib}}, 20 * mib, 0, ""},
		"a negative period":              {drivers.Resources{}, Config{Common: Common{CPUHardLimit: true, CPUCFSPeriod: -1}}, 0, 0, "invalid value for cpu_cfs_period"},
		"a period that is too long":      {drivers.Resources{}, Config{Common: Common{CPUHardLimit: true, CPUCFSPeriod: 1_000_001}}, 0, 0, "invalid value for cpu_cfs_period"},
		"a period without effect":        {drivers.Resources{}, Config{Common: Common{CPUCFSPeriod: 1_000_001}}, 0, 0, ""},
		"an unknown ulimit":              {drivers.Resources{}, Config{Common: Common{Ulimit: []map[string]string{{"none": "1"}}}}, 0, 0, "failed to parse ulimit configuration: Malformed ulimit none: invalid ulimit type: none"},
		"a device of no path":            {drivers.Resources{}, Config{Devices: []Device{{ContainerPath: "/dev/x"}}}, 0, 0, "host path must be set in configuration for devices"},
	} {
		r, err := resources(&drivers.TaskConfig{Resources: tt.granted}, &tt.config)
		if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: %v, want %q", name, err, tt.err)
		}
		if err == nil && (r.MemoryReservation != tt.reservation || r.MemorySwap != tt.swap) {
			t.Errorf("%s: %d reserved, %d with swap", name, r.MemoryReservation, r.MemorySwap)
		}
	}
	for _, period := range []int64{0, 100_000, 1_000_000} {
		r, err := resources(&drivers.TaskConfig{}, &Config{Common: Common{CPUHardLimit: true, CPUCFSPeriod: period}})
		if err != nil || r.CPUPeriod != period || r.CPUQuota != minQuota || r.PidsLimit != nil || r.CPUShares != 0 {
			t.Errorf("a period of %d: %+v, %v", period, r, err)
		}
	}
	swappiness := int64(7)
	got, err := resources(&drivers.TaskConfig{Devices: []drivers.Device{{HostPath: "/dev/c", TaskPath: "/dev/gpu"}, {HostPath: "/dev/d", TaskPath: "/dev/d", Permissions: "r"}}}, &Config{
		Common:  Common{PidsLimit: 5, Ulimit: []map[string]string{{"nproc": "4:8"}, {"nofile": "16"}}},
		Devices: []Device{{HostPath: "/dev/a"}, {HostPath: "/dev/b", ContainerPath: "/dev/x", CgroupPermissions: "rw"}},
		Extra:   Extra{MemorySwappiness: &swappiness},
	})
	want := container.Resources{
		PidsLimit: new(int64(5)), MemorySwappiness: &swappiness,
		Ulimits: []*container.Ulimit{{Name: "nofile", Soft: 16, Hard: 16}, {Name: "nproc", Soft: 4, Hard: 8}},
		Devices: []container.DeviceMapping{
			{PathOnHost: "/dev/a", PathInContainer: "/dev/a", CgroupPermissions: "rwm"},
			{PathOnHost: "/dev/b", PathInContainer: "/dev/x", CgroupPermissions: "rw"},
			{PathOnHost: "/dev/c", PathInContainer: "/dev/gpu", CgroupPermissions: "rwm"},
			{PathOnHost: "/dev/d", PathInContainer: "/dev/d", CgroupPermissions: "r"},
		},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestContainer checks what the whole description of a container has besides its
// parts, and that an error of any part is one.
func TestContainer(t *testing.T) {
	t.Parallel()
	o := Defaults()
	b := &Builder{Options: &o}
	cfg := &drivers.TaskConfig{Name: "t", AllocID: "alloc", AllocDir: t.TempDir(), Network: &drivers.NetworkIsolation{ID: "pause"}}
	if err := errors.Join(os.MkdirAll(cfg.TaskDir(), 0o700), os.WriteFile(filepath.Join(cfg.TaskDir(), "private"), nil, 0o600)); err != nil { // in the way of /etc/hosts
		t.Fatal(err)
	}
	const name, dns, bridge = "alone", "x", "bridge"
	for want, c := range map[string]Config{
		"cannot use isolation mode": {Isolation: "hyperv"},
		"failed to parse security_opt configuration: opening seccomp profile": {Common: Common{SecurityOpt: []string{"seccomp=/none"}}},
		"host path must be set":            {Devices: []Device{{}}},
		"invalid docker volume":            {Common: Common{Volumes: []string{"x"}}},
		"invalid mount type":               {Mount: []Mount{{Type: "x"}}},
		`"alone"`:                          {Common: Common{ExtraHosts: []string{name}}},
		`dns_servers: invalid ip`:          {Common: Common{NetworkMode: bridge}, DNSServers: []string{dns}},
		`Port "http" not found`:            {Common: Common{NetworkMode: bridge, Ports: []string{"http"}}},
		"ipv4_address: ParseAddr(\"x\")":   {Common: Common{NetworkMode: bridge, IPv4Address: "x"}},
		"cannot write the task's /etc/hos": {Common: Common{ExtraHosts: []string{"a:10.0.0.1"}}},
	} {
		if made, err := b.Container(cfg, &c); err == nil || !strings.Contains(err.Error(), want) || made.Config != nil {
			t.Errorf("%v, want %s", err, want)
		}
	}
	c := &Config{Common: Common{Init: true, NetworkMode: "container:other"}, DNSServers: []string{dns}, MACAddress: "x"}
	c.Healthchecks = &struct {
		Disable bool `cty:"disable"`
	}{true}
	made, err := b.Container(cfg, c)
	if err != nil {
		t.Fatal(err)
	}
	if made.Name != "t-alloc" || made.HostConfig.Init == nil || !*made.HostConfig.Init || made.NetworkingConfig != nil || len(made.HostConfig.DNS) > 0 ||
		!slices.Equal(made.Config.Healthcheck.Test, []string{"NONE"}) {
		t.Errorf("%+v, %+v", made, made.HostConfig)
	}
	c.Init, c.Healthchecks.Disable = false, false
	if made, err := b.Container(cfg, c); err != nil || made.HostConfig.Init != nil || made.Config.Healthcheck != nil {
		t.Errorf("without: %+v, %v", made, err)
	}
}

// TestCPUShares checks that shares are MHz, unless the machine has more MHz
// than there are shares.
func TestCPUShares(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mhz, machine int
		want         int64
	}{
		{0, 8000, 2},
		{1, 8000, 2},
		{500, 8000, 500},
		{300_000, 8000, 262144},
		{500, 262143, 500},
		{1000, 524288, 500},
		{1, 524288, 2},
		{524288, 524288, 262144},
	} {
		if got := cpuShares(c.mhz, c.machine); got != c.want {
			t.Errorf("%d of %d MHz: %d shares, want %d", c.mhz, c.machine, got, c.want)
		}
	}
	for _, c := range []struct {
		mhz    int
		core   float64
		period int64
		want   int64
	}{
		{1000, 2000, 100_000, 50_000}, {4000, 2000, 50_000, 100_000}, {1, 2000, 100_000, minQuota}, {2000, 0, 100, 200_000},
	} {
		if got := cpuQuota(c.mhz, c.core, c.period); got != c.want {
			t.Errorf("%d MHz on cores of %v: %d of %d, want %d", c.mhz, c.core, got, c.period, c.want)
		}
	}
}

// The engine cannot read the file of a seccomp profile: it gets the text.
func TestSecurityOptions(t *testing.T) {
	t.Parallel()
	profile, broken := filepath.Join(t.TempDir(), "profile.json"), filepath.Join(t.TempDir(), "broken.json")
	for path, text := range map[string]string{profile: `{"a": 1}`, broken: `{"a"`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := securityOptions([]string{"no-new-privileges", "seccomp=" + profile, "seccomp:" + profile, "seccomp=unconfined", "seccomp=builtin", "label=" + profile})
	want := []string{"no-new-privileges", `seccomp={"a": 1}`, `seccomp={"a": 1}`, "seccomp=unconfined", "seccomp=builtin", "label=" + profile}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for option, want := range map[string]string{"seccomp=/none": "opening seccomp profile (/none) failed", "seccomp=" + broken: "is not JSON"} {
		if _, err := securityOptions([]string{option}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", option, err)
		}
	}
}
