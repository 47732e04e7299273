package docker_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker"
	"taskrun/drivers/docker/dockertest"
	"taskrun/drivers/drivertest"
	"taskrun/engine/leaf/chance"
)

// configured returns a driver with options, in HCL.
func configured(t *testing.T, options string) (*docker.Driver, error) {
	t.Helper()
	d := docker.New(docker.Config{})
	return d, d.SetConfig(drivertest.Config(t, d.ConfigSchema(), options))
}

func mustConfigure(t *testing.T, options string) *docker.Driver {
	t.Helper()
	d, err := configured(t, options)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestWrongPluginOptions(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{
		`pull_activity_timeout = "soon"`:            "pull_activity_timeout",
		`pull_activity_timeout = "0s"`:              "pull_activity_timeout must be more than 0",
		`image_pull_timeout = "-1s"`:                "image_pull_timeout must be more than 0",
		`infra_image_pull_timeout = "0s"`:           "infra_image_pull_timeout must be more than 0",
		`pids_limit = -1`:                           "pids_limit must not be negative",
		`extra_labels = ["["]`:                      `extra_labels: "[" is not a pattern`,
		"volumes {\n  selinuxlabel = \"shared\"\n}": `selinuxlabel "shared" is not one of z, Z`,
	} {
		if _, err := configured(t, options); err == nil || !strings.Contains(err.Error(), "cannot configure docker: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v", options, err)
		}
	}
}

// TestUnheededOptions checks which options are reported as without effect.
func TestUnheededOptions(t *testing.T) {
	t.Parallel()
	for options, want := range map[string][]string{
		"": nil,
		"allow_privileged = true\ngc {\n  image = false\n  container = true\n  image_delay = \"1m\"\n}\nvolumes {\n  enabled = false\n}": nil,
		"nvidia_runtime = \"x\"\nallowed_modes = []\nwindows_allow_insecure_container_admin = true": {
			"allowed_modes", "nvidia_runtime", "windows_allow_insecure_container_admin",
		},
		"gc {\n  image = true\n  container = false\n  dangling_containers {\n    enabled = true\n  }\n}\nvolumes {\n  enabled = true\n}": {
			"gc.container", "gc.dangling_containers", "gc.image", "volumes.enabled",
		},
	} {
		d := docker.New(docker.Config{})
		var got []string
		for _, o := range d.Unheeded(drivertest.Config(t, d.ConfigSchema(), options)) {
			if o.Instead == "" {
				t.Errorf("%s: it is not said what happens instead", o.Option)
			}
			got = append(got, o.Option)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", options, got, want)
		}
	}
}

// TestForbiddenByThePlugin checks config blocks that the options forbid; it
// needs no engine.
func TestForbiddenByThePlugin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ plugin, task, want string }{
		{`allow_privileged = false`, `privileged = true`, "allow_privileged is false"},
		{`allow_caps = ["chown", "CAP_KILL"]`, `cap_add = ["kill", "net_admin"]`, `cap_add "net_admin" is forbidden`},
		{`allow_runtimes = ["runc"]`, `runtime = "kata"`, `runtime "kata" is forbidden`},
		{`pids_limit = 10`, `pids_limit = 11`, "it is at most 10"},
		{"volumes {\n  enabled = false\n}", `volume_driver = "nfs"`, `volumes are not enabled; cannot use volume driver "nfs"`},
	} {
		d := mustConfigure(t, c.plugin)
		cfg, _ := drivertest.Task(t, d, "image = \"x\"\n"+c.task)
		_, _, err := d.StartTask(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) || drivers.IsRecoverable(err) {
			t.Errorf("%s, %s: %v", c.plugin, c.task, err)
		}
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	d := mustConfigure(t, `endpoint = "unix:///not/there"`)
	ch, err := d.Fingerprint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f := <-ch; f.Health != drivers.HealthUndetected || !strings.Contains(f.HealthDescription, "no Docker engine answers at unix:///not/there") {
		t.Errorf("it is %+v", f)
	}
	d = mustConfigure(t, "endpoint = \"tcp://127.0.0.1:1\"\ntls {\n  ca = \"/not/there/ca\"\n}")
	if ch, err = d.Fingerprint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := <-ch; !strings.Contains(f.HealthDescription, "cannot use the certificates for the Docker engine at \"tcp://127.0.0.1:1\"") {
		t.Errorf("it is %+v", f)
	}
}

// TestPluginOptionsReachTheEngine inspects the container.
func TestPluginOptionsReachTheEngine(t *testing.T) {
	t.Parallel()
	cli := dockertest.Need(t)
	d := mustConfigure(t, `
		allow_caps             = ["kill", "net_admin"]
		pids_limit             = 99
		extra_labels           = ["task*", "job_name"]
		disable_log_collection = true
		logging {
			type = "local"
			config {
				max-size = "1m"
			}
		}
		volumes {
			enabled      = false
			selinuxlabel = "z"
		}
	`)
	cfg, output := drivertest.Task(t, d, dockertest.Shell(forever)+`
		cap_add = ["net_admin"]
		volumes = ["local/x:/x:ro", "local/y:/y"]
	`)
	cfg.JobName, cfg.GroupName = "job", "group"
	run(t, d, cfg)
	info, err := cli.ContainerInspect(t.Context(), "task-"+cfg.AllocID, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	host, labels := info.Container.HostConfig, info.Container.Config.Labels
	if !slices.Contains(host.CapDrop, "CAP_CHOWN") || slices.Contains(host.CapDrop, "CAP_KILL") || !slices.Equal(host.CapAdd, []string{"CAP_NET_ADMIN"}) {
		t.Errorf("capabilities: +%q -%q", host.CapAdd, host.CapDrop)
	}
	if host.PidsLimit == nil || *host.PidsLimit != 99 {
		t.Errorf("pids: %v", host.PidsLimit)
	}
	if diff := cmp.Diff(container.LogConfig{Type: "local", Config: map[string]string{"max-size": "1m"}}, host.LogConfig); diff != "" {
		t.Error(diff)
	}
	const nomad = "com.hashicorp.nomad."
	if labels[nomad+"task_name"] != "task" || labels[nomad+"task_group_name"] != "group" || labels[nomad+"job_name"] != "job" || labels[nomad+"node_name"] != "" {
		t.Errorf("labels: %v", labels)
	}
	var targets []string
	for _, b := range host.Binds {
		targets = append(targets, strings.TrimPrefix(b, cfg.AllocDir))
	}
	want := []string{
		"/alloc:/alloc:rw,z", "/alloc/logs:/alloc/logs:ro,z", "/task/local:/local:rw,z", "/task/secrets:/secrets:rw,z",
		"/task/local/x:/x:ro,z", "/task/local/y:/y:z",
	}
	if diff := cmp.Diff(want, targets); diff != "" {
		t.Error(diff)
	}
	if err := d.StopTask(t.Context(), cfg.ID, 0, ""); err != nil {
		t.Fatal(err)
	}
	if stdout, _, err := output.All(t.Context()); stdout != "" || err != nil {
		t.Errorf("what it wrote was collected: %q, %v", stdout, err)
	}
	cfg, _ = drivertest.Task(t, d, dockertest.Shell("true")+"volumes = [\"/etc:/x\"]\n")
	if _, _, err := d.StartTask(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), `volumes are not enabled; cannot mount host paths: "/etc"`) {
		t.Errorf("a path of the machine: %v", err)
	}
}

// TestInfraImage checks that the image holds the network of a group.
func TestInfraImage(t *testing.T) {
	t.Parallel()
	cli := dockertest.Need(t)
	const image = "taskrun-test/infra"
	if err := dockertest.Import(t.Context(), cli, image+":1", `ENTRYPOINT ["/bin/busybox", "sleep", "1000"]`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dockertest.RemoveImage(cli, image) })
	d := mustConfigure(t, `infra_image = "`+image+`:1"`)
	n, err := d.CreateNetwork(t.Context(), &drivers.NetworkRequest{AllocID: chance.Source{}.ID(), AllocDir: t.TempDir(), Mode: "none"})
	if err != nil {
		t.Fatal(err)
	}
	info, err := cli.ContainerInspect(t.Context(), n.ID, client.ContainerInspectOptions{})
	if err != nil || info.Container.Config.Image != image+":1" || info.Container.Config.Entrypoint[1] != "sleep" {
		t.Errorf("it is %+v, %v", info.Container.Config, err)
	}
	if err := d.DestroyNetwork(t.Context(), n); err != nil {
		t.Error(err)
	}
	if n, err := d.Shutdown(context.Background()); n != 0 || err != nil {
		t.Errorf("%d containers were left, %v", n, err)
	}
}

// TestCredentialsOfThePlugin checks that they replace the docker command's.
func TestCredentialsOfThePlugin(t *testing.T) {
	r := dockertest.NewRegistry(t)
	r.Demand("me:secret")
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	server, _, _ := strings.Cut(r.Image, "/")
	for name, text := range map[string]string{
		"auth.json":                      `{"auths": {"` + server + `": {"auth": "bWU6c2VjcmV0"}}}`,
		"docker-credential-taskrun-test": "#!/bin/sh\necho '{\"Username\": \"me\", \"Secret\": \"secret\"}'\n",
	} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for options, well := range map[string]bool{
		"": false,
		"auth {\n  config = \"" + dir + "/auth.json\"\n}": true,
		"auth {\n  config = \"" + dir + "/nothing\"\n}":   false,
		"auth {\n  helper = \"taskrun-test\"\n}":          true,
	} {
		d := mustConfigure(t, options)
		cfg, _ := drivertest.Task(t, d, "image = \""+r.Image+":1\"\ncommand = \"true\"\nforce_pull = true\n")
		_, _, err := d.StartTask(t.Context(), cfg)
		if well != (err == nil) {
			t.Errorf("with %q: %v", options, err)
		}
		if _, err := d.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func TestPullStalls(t *testing.T) {
	t.Parallel()
	r := dockertest.NewRegistry(t)
	defer r.Hold()()
	d := mustConfigure(t, `pull_activity_timeout = "500ms"`)
	cfg, _ := drivertest.Task(t, d, "image = \""+r.Image+":1\"\n")
	_, _, err := d.StartTask(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "nothing arrived for the pull_activity_timeout of 500ms") || !drivers.IsRecoverable(err) {
		t.Errorf("the error is %v", err)
	}
}
