package podman

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/drivers"
	"taskrun/drivers/docker"
	"taskrun/drivers/docker/settings"
	"taskrun/drivers/drivertest"
)

func decode(t *testing.T, d *Driver, config string, network *drivers.NetworkIsolation) (*settings.Config, error) {
	t.Helper()
	value := drivertest.Config(t, d.TaskConfigSchema(), config)
	o := settings.Defaults()
	return d.decode(&o, &drivers.TaskConfig{AllocID: "alloc", Config: value, Network: network})
}

// TestDecode checks what each option becomes.
func TestDecode(t *testing.T) {
	t.Parallel()
	period := func(c *settings.Config) {
		c.Image, c.LocalNames = "web:1", []string{"localhost/web:1"}
	}
	swappiness := int64(60)
	for config, want := range map[string]func(*settings.Config){
		`image = "web:1"`:                                     period,
		`image = "docker://web:1"`:                            period,
		`image = "quay.io/a/web:1"`:                           func(c *settings.Config) { c.Image = "quay.io/a/web:1" },
		`image = "localhost/web"`:                             func(c *settings.Config) { c.Image = "localhost/web" },
		`image = "shop/web"`:                                  func(c *settings.Config) { c.Image, c.LocalNames = "shop/web", []string{"localhost/shop/web"} },
		`image = "docker-archive:/opt/web.tar:web:1"`:         func(c *settings.Config) { c.Archive = "/opt/web.tar" },
		`image = "oci-archive:/local/web.tar"`:                func(c *settings.Config) { c.Load = "web.tar" },
		"image = \"a.b/c\"\nentrypoint = \"/e\"":              func(c *settings.Config) { c.Entrypoint = []string{"/e"} },
		"image = \"a.b/c\"\nentrypoint = [\"/e\", \"-v\"]":    func(c *settings.Config) { c.Entrypoint = []string{"/e", "-v"} },
		"image = \"a.b/c\"\nnetwork_mode = \"task:a b\"":      func(c *settings.Config) { c.NetworkMode = "container:a_b-alloc" },
		"image = \"a.b/c\"\nnetwork_mode = \"slirp4netns\"":   func(c *settings.Config) { c.NetworkMode = "slirp4netns" },
		"image = \"a.b/c\"\nipc_mode = \"task:db\"":           func(c *settings.Config) { c.IPCMode = "container:db-alloc" },
		"image = \"a.b/c\"\nuserns = \"keep-id\"":             func(c *settings.Config) { c.UsernsMode = "keep-id" },
		"image = \"a.b/c\"\nshm_size = \"128m\"":              func(c *settings.Config) { c.ShmSize = 128 << 20 },
		"image = \"a.b/c\"\nmemory_swap = \"1g\"":             func(c *settings.Config) { c.MemorySwap = 1 << 30 },
		"image = \"a.b/c\"\nmemory_reservation = \"64k\"":     func(c *settings.Config) { c.MemoryReservation = 64 << 10 },
		"image = \"a.b/c\"\nmemory_swappiness = 60":           func(c *settings.Config) { c.MemorySwappiness = &swappiness },
		"image = \"a.b/c\"\ncpu_cfs_period = 5":               func(c *settings.Config) { c.CPUCFSPeriod = 1000 },
		"image = \"a.b/c\"\nimage_pull_timeout = \"7m\"":      func(c *settings.Config) { c.ImagePullTimeout = 7 * time.Minute },
		"image = \"a.b/c\"\narch = \"arm64\"":                 func(c *settings.Config) { c.Platform = "linux/arm64" },
		"image = \"a.b/c\"\ntmpfs = [\"/a\", \"/b:size=1m\"]": func(c *settings.Config) { c.Tmpfs = map[string]string{"/a": "", "/b": "size=1m"} },
		"image = \"a.b/c\"\ndevices = [\"/dev/x\", \"/dev/y:/dev/z:r\"]": func(c *settings.Config) {
			c.Devices = []settings.Device{{HostPath: "/dev/x"}, {HostPath: "/dev/y", ContainerPath: "/dev/z", CgroupPermissions: "r"}}
		},
		"image = \"a.b/c\"\nstatic_ips = [\"10.0.0.2\", \"fd00::1\", \"10.0.0.3\"]\nstatic_mac = \"02:42:ac:11:00:02\"": func(c *settings.Config) {
			c.IPv4Address, c.IPv6Address, c.MACAddress = "10.0.0.2", "fd00::1", "02:42:ac:11:00:02"
		},
		"image = \"a.b/c\"\nsecurity_opt = [\"no-new-privileges\"]\napparmor_profile = \"p\"\nselinux_opts = [\"type:t\"]": func(c *settings.Config) {
			c.SecurityOpt = []string{"no-new-privileges", "apparmor=p", "label=type:t"}
		},
		"image = \"a.b/c\"\nauth {\n  username = \"u\"\n  password = \"p\"\n}": func(c *settings.Config) {
			c.Auth = &settings.Auth{Username: "u", Password: "p"}
		},
		"image = \"a.b/c\"\nlogging {\n  driver = \"journald\"\n  options = [{ tag = \"t\" }]\n}": func(c *settings.Config) {
			c.Logging = &settings.Logging{Type: "journald", Config: []map[string]string{{"tag": "t"}}}
		},
		"image = \"a.b/c\"\nlogging {\n  driver = \"nomad\"\n}": func(*settings.Config) {},
	} {
		got, err := decode(t, New(docker.Config{}), config, nil)
		if err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		c := &settings.Config{
			Common:                  settings.Common{Image: "a.b/c", ImagePullTimeout: 5 * time.Minute, CPUCFSPeriod: 100_000},
			ContainerExistsAttempts: 5, Extra: settings.Extra{PreferLocal: true},
		}
		if strings.Contains(config, "archive:") {
			c.Image = ""
		}
		want(c)
		if diff := cmp.Diff(c, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", config, diff)
		}
	}
}

// TestDecodeErrors checks what is refused before an engine sees it.
func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		`image = ""`:          "image name required",
		`image = "docker://"`: "image name required",
		`image = "docker-archive:https://x/y.tar"`:               "use an artifact block",
		"image = \"x\"\nentrypoint = { a = 1 }":                  "entrypoint must be a list of strings",
		"image = \"x\"\nipc_mode = \"mine\"":                     `invalid ipc_mode "mine"`,
		"image = \"x\"\nipc_mode = \"host\"\nshm_size = \"1m\"":  "shm_size cannot be used",
		"image = \"x\"\nshm_size = \"m\"":                        `shm_size: "m" is not a size`,
		"image = \"x\"\nshm_size = \"1t\"":                       `shm_size: "1t" is not a size`,
		"image = \"x\"\nmemory_swap = \"-1\"":                    `memory_swap: "-1" is not a size`,
		"image = \"x\"\nstatic_ips = [\"here\"]":                 "static_ips",
		"image = \"x\"\nports = [\"a\"]\nport_map = [{ a = 1 }]": "use of port_map and ports",
		"image = \"x\"\nlogging {\n  driver = \"json-file\"\n}":  `invalid logging driver "json-file"`,
	} {
		if _, err := decode(t, New(docker.Config{}), config, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", config, err, want)
		}
	}
}

// A task of a group with a network of its own joins it, whatever its mode. On a
// Docker engine a task has no modes of Podman, and no more rights than there.
func TestDecodeElsewhere(t *testing.T) {
	t.Parallel()
	const modes = "image = \"x\"\nnetwork_mode = \"pasta:-t,80\"\nuserns = \"auto\"\ncap_add = [\"cap_mknod\"]\ncap_drop = [\"net_raw\"]"
	d := New(docker.Config{})
	if c, err := decode(t, d, modes, &drivers.NetworkIsolation{ID: "group"}); err != nil || c.NetworkMode != "" || c.UsernsMode != "auto" {
		t.Errorf("%+v, %v", c, err)
	}
	d.instead.Store(true)
	c, err := decode(t, d, modes, nil)
	if err != nil || c.NetworkMode != "" || c.UsernsMode != "" {
		t.Fatalf("%+v, %v", c, err)
	}
	if diff := cmp.Diff([]string{"net_raw", "AUDIT_WRITE"}, c.CapDrop); diff != "" {
		t.Error(diff)
	}
}

// TestUnheededInConfig checks the options that Docker's API cannot express.
func TestUnheededInConfig(t *testing.T) {
	t.Parallel()
	d := New(docker.Config{})
	all := d.UnheededInConfig(map[string]any{
		"init_path": "/tini", "socket": "app", "static_ips": []any{"a", "b"},
		"auth": []map[string]any{{"username": "u", "tls_verify": false}},
	})
	var names []string
	for _, o := range all {
		names = append(names, o.Option)
	}
	if diff := cmp.Diff([]string{"init_path", "socket", "static_ips", "auth.tls_verify"}, names); diff != "" {
		t.Error(diff)
	}
	if some := d.UnheededInConfig(map[string]any{"socket": "default", "static_ips": []any{"a"}, "auth": map[string]any{"tls_verify": true}}); some != nil {
		t.Errorf("%+v", some)
	}
}
