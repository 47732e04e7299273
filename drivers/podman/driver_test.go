package podman

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"taskrun/drivers"
	"taskrun/drivers/docker"
	"taskrun/drivers/docker/dockertest"
	"taskrun/drivers/drivertest"
	"taskrun/jobspec/taskenv"
)

func TestMain(m *testing.M) {
	os.Exit(dockertest.Main(m, func() error { return goleak.Find() }))
}

// TestDriver runs the suite of all drivers on a Podman.
func TestDriver(t *testing.T) {
	t.Parallel()
	dockertest.NeedPodman(t)
	drivertest.Run(t, drivertest.Harness{
		New:       func() drivers.Driver { return New(docker.Config{}) },
		Script:    func(s drivertest.Script) string { return dockertest.Shell(drivertest.FirstProcess(s)) },
		Command:   drivertest.ShellCommand,
		Size:      drivertest.ShellSize(),
		LateSize:  true,
		Many:      4,
		CodeError: func(int) string { return "" },
	})
}

// run runs a task to its end, and returns its output.
func run(t *testing.T, config string, ports ...taskenv.Port) string {
	t.Helper()
	d := New(docker.Config{})
	t.Cleanup(func() {
		if n, err := d.Shutdown(context.Background()); n != 0 || err != nil {
			t.Errorf("%d containers were left, %v", n, err)
		}
	})
	cfg, out := drivertest.Task(t, d, config)
	cfg.Ports = ports
	if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	ended, err := d.WaitTask(t.Context(), cfg.ID)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case r := <-ended:
		if r.ExitCode != 0 || r.Err != nil {
			t.Errorf("the task ended with %+v: %s", r, out.Stdout())
		}
	case <-time.After(time.Minute):
		t.Error("the task does not end")
	}
	if err := d.DestroyTask(cfg.ID, true); err != nil {
		t.Error(err)
	}
	return out.Stdout()
}

// TestOptionsReachPodman runs a task with many options, and looks around in it.
func TestOptionsReachPodman(t *testing.T) {
	t.Parallel()
	dockertest.NeedPodman(t)
	out := run(t, `
		image       = "docker://docker.io/`+dockertest.Image+`"
		entrypoint  = ["/bin/sh", "-c"]
		args        = ["hostname; pwd; cat /proc/sys/net/ipv4/ip_unprivileged_port_start; ulimit -n; grep -c ' /scratch tmpfs ' /proc/mounts; grep db /etc/hosts | tr '\\t' ' '; touch /x 2>&1; df -m /dev/shm | tail -1; grep CapBnd /proc/self/status"]
		hostname    = "box"
		working_dir = "/tmp"
		extra_hosts = ["db:10.0.0.2"]
		tmpfs       = ["/scratch:size=1m"]
		shm_size    = "3m"
		cap_drop    = ["ALL"]
		readonly_rootfs = true
		sysctl = [{ "net.ipv4.ip_unprivileged_port_start" = "81" }]
		ulimit = [{ nofile = "512:512", nproc = "1024:1024" }]
		labels = [{ tier = "front" }]
		security_opt = ["no-new-privileges"]
		pids_limit   = 50
		memory_swap  = "400m"
	`)
	for _, want := range []string{
		"box\n", "/tmp\n", "\n81\n", "\n512\n1\n", "10.0.0.2 db\n", "Read-only file system", " 3 ", "0000000000000000\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}

// A local image has precedence, also under the name that Podman gives what it
// builds, and whatever its tag is.
func TestLocalNames(t *testing.T) {
	t.Parallel()
	cli := dockertest.NeedPodman(t)
	if err := dockertest.Import(t.Context(), cli, "localhost/taskrun-test-own:latest"); err != nil {
		t.Fatal(err)
	}
	if out := run(t, "image = \"taskrun-test-own\"\ncommand = \"/bin/echo\"\nargs = [\"mine\"]\n"); out != "mine\n" {
		t.Errorf("the output is %q", out)
	}
}
