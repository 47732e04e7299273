package docker_test

import (
	"context"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"

	"taskrun/drivers"
	"taskrun/drivers/docker"
	"taskrun/drivers/docker/dockertest"
	"taskrun/drivers/drivertest"
	"taskrun/jobspec/taskenv"
)

// TestOptionsReachTheEngine starts a task with most options, and inspects its
// container.
func TestOptionsReachTheEngine(t *testing.T) {
	t.Parallel()
	profile := filepath.Join(t.TempDir(), "seccomp.json")
	if err := os.WriteFile(profile, []byte(`{"defaultAction": "SCMP_ACT_ALLOW"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, cfg, _ := start(t, `
		image      = "`+dockertest.Image+`"
		entrypoint = ["/bin/sh", "-c"]
		command    = "sleep 1000"
		args       = ["ignored by sh"]
		work_dir   = "/tmp"
		hostname   = "box"
		init        = true
		interactive = true

		extra_hosts        = ["db:10.0.0.2"]
		dns_servers        = ["10.0.0.1"]
		dns_search_domains = ["example.com"]
		dns_options        = ["ndots:1"]
		ports              = ["http"]

		privileged      = false
		cap_add         = ["net_admin"]
		cap_drop        = ["chown"]
		security_opt    = ["no-new-privileges", "seccomp=`+profile+`"]
		group_add       = ["audio"]
		ipc_mode        = "private"
		pid_mode        = "host"
		readonly_rootfs = true
		shm_size        = 33554432

		cpu_hard_limit    = true
		cpu_cfs_period    = 50000
		memory_hard_limit = 64
		pids_limit        = 32
		oom_score_adj     = 100
		cpuset_cpus       = "0"

		sysctl  = [{ "net.core.somaxconn" = "16384" }]
		ulimit  = [{ nproc = "4242", nofile = "2048:4096" }]
		labels  = [{ tier = "front", "com.hashicorp.nomad.alloc_id" = "not this" }]
		volumes = ["conf:/etc/conf:ro", "/local/made:/made"]
		healthchecks {
			disable = true
		}
		logging {
			type   = "json-file"
			config = [{ max-size = "1m" }]
		}
		devices {
			host_path      = "/dev/null"
			container_path = "/dev/nothing"
		}
		mount {
			type   = "tmpfs"
			target = "/scratch"
			tmpfs_options {
				size = 1048576
			}
		}
		mount {
			target = "/data"
			volume_options {
				labels = [{ kept = "no" }]
			}
		}
		mount {
			type     = "bind"
			source   = "conf"
			target   = "/again"
			readonly = true
		}
	`, func(cfg *drivers.TaskConfig) {
		cfg.User = "worker"
		cfg.Resources = drivers.Resources{CPU: 500, MemoryMB: 32}
		cfg.Ports = []taskenv.Port{{Label: "http", Value: freePort(t), To: 80, HostIP: "127.0.0.1"}}
		cfg.Mounts = []drivers.Mount{{HostPath: cfg.AllocDir, TaskPath: "/whole", Readonly: true, PropagationMode: "private"}}
		if err := os.MkdirAll(filepath.Join(cfg.TaskDir(), "conf"), 0o755); err != nil {
			t.Fatal(err)
		}
	})
	info, err := dockertest.Need(t).ContainerInspect(t.Context(), "task-"+cfg.AllocID, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, host := info.Container.Config, info.Container.HostConfig
	check := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("entrypoint", c.Entrypoint, []string{"/bin/sh", "-c"})
	check("command", c.Cmd, []string{"sleep 1000", "ignored by sh"})
	check("strings", []string{c.WorkingDir, c.Hostname, c.User}, []string{"/tmp", "box", "worker"})
	check("open stdin", c.OpenStdin, true)
	check("init", *host.Init, true)
	check("health check", c.Healthcheck.Test, []string{"NONE"})
	check("labels", []string{c.Labels["tier"], c.Labels["com.hashicorp.nomad.alloc_id"]}, []string{"front", cfg.AllocID})
	check("hosts", host.ExtraHosts, []string{"db:10.0.0.2"})
	check("dns", []string{host.DNS[0].String(), host.DNSSearch[0], host.DNSOptions[0]}, []string{"10.0.0.1", "example.com", "ndots:1"})
	check("capabilities", []string{host.CapAdd[0], host.CapDrop[0]}, []string{"CAP_NET_ADMIN", "CAP_CHOWN"})
	check("security", host.SecurityOpt[:2], []string{"no-new-privileges", `seccomp={"defaultAction": "SCMP_ACT_ALLOW"}`})
	check("groups", host.GroupAdd, []string{"audio"})
	check("modes", []string{string(host.IpcMode), string(host.PidMode)}, []string{"private", "host"})
	check("root", host.ReadonlyRootfs, true)
	check("shm", host.ShmSize, int64(32<<20))
	check("memory", []int64{host.Memory, host.MemoryReservation, host.MemorySwap}, []int64{64 << 20, 32 << 20, 64 << 20})
	check("cpu", []any{host.CPUShares, host.CPUPeriod, host.CPUQuota >= 1000, host.CpusetCpus}, []any{int64(500), int64(50000), true, "0"})
	check("limits", []int64{*host.PidsLimit, int64(host.OomScoreAdj)}, []int64{32, 100})
	check("sysctl", host.Sysctls, map[string]string{"net.core.somaxconn": "16384"})
	check("ulimits", host.Ulimits, []*container.Ulimit{{Name: "nofile", Soft: 2048, Hard: 4096}, {Name: "nproc", Soft: 4242, Hard: 4242}})
	check("logging", host.LogConfig, container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "1m"}})
	check("devices", host.Devices, []container.DeviceMapping{{PathOnHost: "/dev/null", PathInContainer: "/dev/nothing", CgroupPermissions: "rwm"}})
	check("ports", len(host.PortBindings), 2) // TCP and UDP
	check("volumes", host.Binds, []string{
		filepath.Join(cfg.TaskDir(), "conf") + ":/etc/conf:ro", filepath.Join(cfg.TaskDir(), "local", "made") + ":/made",
	})
	var targets []string
	for _, m := range host.Mounts {
		targets = append(targets, string(m.Type)+" "+m.Target)
	}
	slices.Sort(targets)
	check("mounts", targets, []string{
		"bind /again", "bind /alloc", "bind /alloc/logs", "bind /local", "bind /secrets", "bind /whole",
		string(mount.TypeTmpfs) + " /scratch", "volume /data",
	})
}

// freePort returns a port below the kernel's range for others, so that it stays
// free until the engine has it.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 20000 + rand.IntN(12000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("there is no free port")
	return 0
}

// TestEffectiveCapabilities reads the capabilities of the first process: by
// default all of Nomad's list, which lacks NET_RAW.
func TestEffectiveCapabilities(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{
		``:                                      "00000000a80405fb",
		`cap_drop = ["chown"]`:                  "00000000a80405fa",
		`cap_add = ["net_raw"]`:                 "00000000a80425fb",
		`cap_add = ["NET_RAW", "CAP_SYS_TIME"]`: "00000000aa0425fb",
		"cap_add = [\"kill\"]\ncap_drop = [\"all\"]":        "0000000000000020",
		"cap_add = [\"net_raw\"]\ncap_drop = [\"net_raw\"]": "00000000a80425fb",
	} {
		d, cfg, output := start(t, dockertest.Shell("sed -n 's/^CapEff:.//p' /proc/self/status")+options)
		result(t, d, cfg.ID)
		if got, stderr, err := output.All(t.Context()); got != want+"\n" || err != nil {
			t.Errorf("with %q: %q, want %s; %s, %v", options, got, want, stderr, err)
		}
	}
}

// TestLoggingNone checks that the task has no output, even after it was
// recovered.
func TestLoggingNone(t *testing.T) {
	t.Parallel()
	d, cfg, output := start(t, dockertest.Shell(twoLines)+"logging {\n  type = \"none\"\n}\n")
	again, rest := *cfg, drivertest.NewOutput()
	again.Output = rest
	second := docker.New(docker.Config{})
	t.Cleanup(func() { _, _ = second.Shutdown(context.Background()) })
	events, err := second.TaskEvents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := second.RecoverTask(&drivers.TaskHandle{Config: &again}); err != nil {
		t.Fatal(err)
	}
	letGo(t, cfg)
	for _, d := range []*docker.Driver{d, second} {
		if r := result(t, d, cfg.ID); r.ExitCode != 3 {
			t.Errorf("the result is %+v", r)
		}
	}
	for _, o := range []*drivertest.Output{output, rest} {
		if stdout, stderr, err := o.All(t.Context()); stdout+stderr != "" || err != nil {
			t.Errorf("there is output: %q, %q, %v", stdout, stderr, err)
		}
	}
	select {
	case e := <-events:
		t.Errorf("an event: %+v", e)
	default:
	}
}

// TestCoresAreALimit checks that the CPU limit corresponds to the cores, and
// that the container runs only on them.
func TestCoresAreALimit(t *testing.T) {
	t.Parallel()
	node := taskenv.Fingerprint()
	_, cfg, _ := start(t, dockertest.Shell(forever)+"cpu_hard_limit = true\n", func(cfg *drivers.TaskConfig) {
		cfg.Resources = drivers.Resources{CPU: int(node.CoreMHz()), Cores: []int{0}, MemoryMB: 32}
	})
	info, err := dockertest.Need(t).ContainerInspect(t.Context(), "task-"+cfg.AllocID, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if host := info.Container.HostConfig; host.CPUPeriod != 100_000 || host.CPUQuota < 99_000 || host.CPUQuota > 100_000 || host.CPUShares < 2 || host.CpusetCpus != "0" {
		t.Errorf("shares %d, quota %d of %d, CPUs %q", host.CPUShares, host.CPUQuota, host.CPUPeriod, host.CpusetCpus)
	}
}

// TestMACAddress checks that it is set, or an error with an engine that would
// ignore it.
func TestMACAddress(t *testing.T) {
	t.Parallel()
	cli := dockertest.Need(t)
	d := docker.New(docker.Config{})
	cfg, output := drivertest.Task(t, d, dockertest.Shell("cat /sys/class/net/eth0/address")+"mac_address = \"02:42:ac:11:00:99\"\n")
	t.Cleanup(func() { _, _ = d.Shutdown(context.Background()) })
	_, _, err := d.StartTask(t.Context(), cfg)
	if v := cli.ClientVersion(); versions.LessThan(v, "1.44") {
		if err == nil || !strings.Contains(err.Error(), "mac_address needs Docker 25 or later: the engine speaks version "+v) || drivers.IsRecoverable(err) {
			t.Errorf("the error is %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	result(t, d, cfg.ID)
	if stdout, _, err := output.All(t.Context()); stdout != "02:42:ac:11:00:99\n" || err != nil {
		t.Errorf("it has %q, %v", stdout, err)
	}
}

// TestImpossibleOptions checks that they are errors before anything is created.
func TestImpossibleOptions(t *testing.T) {
	t.Parallel()
	dockertest.Need(t)
	for _, c := range []struct{ config, want string }{
		{`ports = ["http"]`, `Failed to create container configuration for image "` + dockertest.Image + `" ("sha256:`},
		{`ports = ["http"]`, `): Port "http" not found, check network block`},
		{`port_map = [{ http = 80 }]`, "Trying to map ports but no network interface is available"},
		{`volumes = ["nothing"]`, `invalid docker volume "nothing": not <src>:<destination> format`},
		{"mount {\ntype = \"npipe\"\ntarget = \"/x\"\n}", `invalid mount type, must be "bind", "volume", "tmpfs": "npipe"`},
		{`dns_servers = ["here"]`, `invalid ip dns server: "here"`},
		{`ulimit = [{ nofile = "many" }]`, "failed to parse ulimit configuration: Malformed ulimit nofile"},
		{`security_opt = ["seccomp=/not/there"]`, "opening seccomp profile (/not/there) failed"},
		{"devices {\n}", "host path must be set in configuration for devices"},
		{`memory_hard_limit = -1`, "memory_hard_limit must not be negative"},
		{`work_dir = "here"`, "failed to create container: Error response from daemon: the working directory 'here' is invalid"},
		{"mount {\n  type = \"tmpfs\"\n  source = \"x\"\n  target = \"/x\"\n}", `invalid source, must be "" for tmpfs`},
		{"cpu_hard_limit = true\ncpu_cfs_period = 2000000", "invalid value for cpu_cfs_period"},
		{`ipv4_address = "x"`, "ipv4_address"},
		{`mac_address = "x"`, "mac_address"},
		{`isolation = "hyperv"`, `cannot use isolation mode "hyperv" on `},
		{`runtime = "nothing"`, "nothing"},
		{`storage_opt { size = "nothing" }`, ""},
		{`network_mode = "no-such-network"`, "no-such-network"},
		{"load = \"../../etc/passwd\"\nforce_pull = true", "cannot load image"},
	} {
		d := docker.New(docker.Config{})
		cfg, _ := drivertest.Task(t, d, "image = \""+dockertest.Image+"\"\ncommand = \"true\"\n"+c.config)
		_, _, err := d.StartTask(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) || drivers.IsRecoverable(err) {
			t.Errorf("%s: %v, want %q", c.config, err, c.want)
		}
		if n, err := d.Shutdown(t.Context()); n != 0 || err != nil {
			t.Errorf("%s: %d containers were left, %v", c.config, n, err)
		}
	}
}

// TestLegacyPorts checks the ports of the task's own network block.
func TestLegacyPorts(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	d, cfg, output := start(t, dockertest.Shell(`echo port $NOMAD_PORT_http; mkdir /tmp/s; echo served > /tmp/s/index.html; exec httpd -f -p $NOMAD_PORT_http -h /tmp/s`)+
		"port_map = [{ http = 8080 }]\n", func(cfg *drivers.TaskConfig) {
		cfg.TaskPorts = []taskenv.Port{{Label: "http", Value: port, HostIP: "127.0.0.1"}}
		cfg.Env["NOMAD_PORT_http"] = "as on the host"
	})
	if err := output.Await(t.Context(), "port 8080\n"); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := d.StopTask(t.Context(), cfg.ID, time.Second, "SIGTERM"); err != nil {
		t.Error(err)
	}
}

func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	d, cfg, _ := start(t, dockertest.Shell(`x=$(cat /dev/zero | tr '\0' x); echo "$x"`), func(cfg *drivers.TaskConfig) {
		cfg.Resources.MemoryMB = 16
	})
	r := result(t, d, cfg.ID)
	// Whether the engine reports it depends on which process was killed.
	if r.ExitCode == 0 || r.OOMKilled && r.Err.Error() != "OOM Killed" {
		t.Errorf("the result is %+v", r)
	}
}

func TestTerminalOfTheTask(t *testing.T) {
	t.Parallel()
	d, cfg, output := start(t, dockertest.Shell("tty; echo err >&2")+"tty = true\n")
	result(t, d, cfg.ID)
	stdout, stderr, err := output.All(t.Context())
	if err != nil || !strings.HasPrefix(stdout, "/dev/") || !strings.HasSuffix(stdout, "err\r\n") || stderr != "" {
		t.Errorf("stdout %q, stderr %q, %v", stdout, stderr, err)
	}
}

// TestContainerRemovedByHand checks that the task fails, and nothing hangs.
func TestContainerRemovedByHand(t *testing.T) {
	t.Parallel()
	d, cfg := startForever(t, "")
	_, err := dockertest.Need(t).ContainerRemove(t.Context(), "task-"+cfg.AllocID, client.ContainerRemoveOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if r := result(t, d, cfg.ID); r.Successful() || r.ExitCode != 137 {
		t.Errorf("the result is %+v", r)
	}
	if err := d.StopTask(t.Context(), cfg.ID, time.Second, ""); err != nil {
		t.Error(err)
	}
	if err := d.DestroyTask(cfg.ID, false); err != nil {
		t.Error(err)
	}
}
