package podman

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/docker"
	"taskrun/drivers/docker/settings"
	"taskrun/drivers/drivertest"
)

// The fingerprint is of the engine at socket_path, with the attributes of the
// plugin. On a Docker engine it has a notice, and tasks are adapted to it.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	const podman = `{"Os":"linux","Version":"5.4.2","Components":[{"Name":"Podman Engine"}]}`
	for name, c := range map[string]struct {
		version, info string
		attributes    map[string]string
		fails, notice string
	}{
		"Podman": {
			version: podman, info: `{"CgroupVersion":"2","SecurityOptions":["name=seccomp,profile=default","name=selinux"],"Rootless":true}`,
			attributes: map[string]string{"version": "5.4.2", "rootless": "true", "seccompEnabled": "true", "selinuxEnabled": "true", "appArmor": "false", "cgroupVersion": "v2"},
		},
		"Docker": {
			version: `{"Os":"linux","Version":"28.1","Components":[{"Name":"Engine"}]}`, info: `{"CgroupVersion":"1","SecurityOptions":["name=apparmor"]}`,
			attributes: map[string]string{"version": "28.1", "rootless": "false", "seccompEnabled": "false", "selinuxEnabled": "false", "appArmor": "true", "cgroupVersion": "v1"},
			notice:     "no Podman was found; userns, slirp4netns and pasta have no effect there",
		},
		"no answer": {version: podman, fails: "cannot identify the engine at "},
		"nonsense":  {version: podman, info: `{"Rootless":"perhaps"}`, fails: "cannot identify the engine: json: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Api-Version", "1.44")
				switch path := r.URL.Path; {
				case strings.HasSuffix(path, "/version"):
					_, _ = io.WriteString(w, c.version)
				case strings.HasSuffix(path, "/info") && c.info != "":
					_, _ = io.WriteString(w, c.info)
				case !strings.HasSuffix(path, "/_ping"):
					w.WriteHeader(http.StatusTeapot)
				}
			}))
			defer server.Close()
			host := "tcp://" + server.Listener.Addr().String()
			d := New(docker.Config{})
			defer d.Shutdown(context.Background())
			if err := d.SetConfig(drivertest.Config(t, d.ConfigSchema(), `socket_path = "`+host+`"`)); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ch, err := d.Fingerprint(ctx)
			if err != nil {
				t.Fatal(err)
			}
			f := <-ch
			if c.fails != "" {
				if f.Health != drivers.HealthUndetected || !strings.Contains(f.HealthDescription, "the engine at "+host) || !strings.Contains(f.HealthDescription, c.fails) {
					t.Errorf("it is %+v", f)
				}
				return
			}
			want := map[string]string{"driver.podman": "1"}
			for name, value := range c.attributes {
				want["driver.podman."+name] = value
			}
			if diff := cmp.Diff(want, f.Attributes); diff != "" || f.Health != drivers.HealthHealthy {
				t.Errorf("it is %s, attributes (-want +got):\n%s", f.Health, diff)
			}
			if (f.Notice != "") != (c.notice != "") || !strings.Contains(f.Notice, c.notice) || c.notice != "" && !strings.Contains(f.Notice, host) {
				t.Errorf("the notice is %q", f.Notice)
			}
			config, err := decode(t, d, "image = \"x\"\nnetwork_mode = \"pasta\"", nil)
			if err != nil || (config.NetworkMode == "") != (c.notice != "") {
				t.Errorf("the network mode is %q, %v", config.NetworkMode, err)
			}
		})
	}
}

// Containers in a Docker engine are the docker driver's to find.
func TestLeftoversOfDocker(t *testing.T) {
	t.Parallel()
	d := New(docker.Config{})
	if err := d.SetConfig(drivertest.Config(t, d.ConfigSchema(), `socket_path = "tcp://127.0.0.1:1"`)); err != nil {
		t.Fatal(err)
	}
	if left, err := d.Leftovers(t.Context()); err == nil {
		t.Errorf("of an engine that does not answer: %v", left)
	}
	d.instead.Store(true)
	if left, err := d.Leftovers(t.Context()); err != nil || left != nil {
		t.Errorf("of Docker: %v, %v", left, err)
	}
}

// Without a socket of Podman, the engine is that of the docker command.
func TestFindDockerInstead(t *testing.T) { // not parallel: it changes the environment
	if err := check("/run/podman/podman.sock", 0); err == nil {
		t.Skip("there is a Podman")
	}
	t.Setenv("CONTAINER_HOST", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("DOCKER_HOST", "tcp://10.0.0.1:2375")
	d := New(docker.Config{})
	if engine, err := d.find("", nil); err != nil || engine.Host != "tcp://10.0.0.1:2375" || !d.instead.Load() {
		t.Errorf("it is %+v, %v, instead: %v", engine, err, d.instead.Load())
	}
	d = New(docker.Config{})
	if engine, err := d.find("unix:///not/there", nil); err != nil || engine.Host != "unix:///not/there" || !engine.Verify || d.instead.Load() {
		t.Errorf("it is %+v, %v, instead: %v", engine, err, d.instead.Load())
	}
	file := filepath.Join(t.TempDir(), "podman")
	if _, err := find("", func(string) string { return file }, 0); errors.Is(err, errNoPodman) {
		t.Errorf("CONTAINER_HOST is ignored: %v", err)
	}
}

func TestUserName(t *testing.T) {
	t.Parallel()
	for uid, want := range map[int]string{0: `"root"`, 1999999999: "1999999999"} {
		if got := userName(uid); got != want {
			t.Errorf("%d is %s", uid, got)
		}
	}
}

// Differences from Docker in modes, sizes and names of images.
func TestDecodeMore(t *testing.T) {
	t.Parallel()
	type part struct {
		Image, Archive, Load, Network, IPC, Platform string
		Names, Entrypoint                            []string
		Shm                                          int64
		IPv4, IPv6                                   string
	}
	for config, want := range map[string]part{
		`image = "host:5000/web"`:                                    {Image: "host:5000/web"},
		`image = "docker-archive:web.tar"`:                           {Archive: "web.tar"},
		`image = "docker-archive:local/a/web.tar:web:1"`:             {Load: "a/web.tar"},
		"image = \"a.b/c\"\nos = \"linux\"":                          {Image: "a.b/c", Platform: "linux"},
		"image = \"a.b/c\"\nvariant = \"v7\"\narch = \"arm\"":        {Image: "a.b/c", Platform: "linux/arm/v7"},
		"image = \"a.b/c\"\nvariant = \"v7\"":                        {Image: "a.b/c", Platform: "linux//v7"},
		"image = \"a.b/c\"\nshm_size = \"0b\"":                       {Image: "a.b/c"},
		"image = \"a.b/c\"\nshm_size = \"9b\"":                       {Image: "a.b/c", Shm: 9},
		"image = \"a.b/c\"\nshm_size = \"1k\"\nipc_mode=\"private\"": {Image: "a.b/c", Shm: 1024, IPC: "private"},
		"image = \"a.b/c\"\nipc_mode = \"shareable\"":                {Image: "a.b/c", IPC: "shareable"},
		"image = \"a.b/c\"\nipc_mode = \"none\"":                     {Image: "a.b/c", IPC: "none"},
		"image = \"a.b/c\"\nipc_mode = \"container:x\"":              {Image: "a.b/c", IPC: "container:x"},
		"image = \"a.b/c\"\nipc_mode = \"ns:/proc/1/ns/ipc\"":        {Image: "a.b/c", IPC: "ns:/proc/1/ns/ipc"},
		"image = \"a.b/c\"\nnetwork_mode = \"host\"":                 {Image: "a.b/c", Network: "host"},
		"image = \"a.b/c\"\nstatic_ips = [\"fd00::1\"]":              {Image: "a.b/c", IPv6: "fd00::1"},
		"image = \"a.b/c\"\nentrypoint = null":                       {Image: "a.b/c"},
		"image = \"a.b/c\"\nports = [\"a\"]":                         {Image: "a.b/c"},
		"image = \"a.b/c\"\nport_map = [{ a = 1 }]":                  {Image: "a.b/c"},
	} {
		c, err := decode(t, New(docker.Config{}), config, nil)
		if err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		got := part{c.Image, c.Archive, c.Load, c.NetworkMode, c.IPCMode, c.Platform, c.LocalNames, c.Entrypoint, c.ShmSize, c.IPv4Address, c.IPv6Address}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", config, diff)
		}
	}
	for config, want := range map[string]string{
		"image = \"oci-archive:http://x/y.tar\"":                 `image "oci-archive:http://x/y.tar": archives are not downloaded; use an artifact block and oci-archive:local/FILE`,
		"image = \"x\"\nentrypoint = 1":                          "entrypoint must be a list of strings, not number",
		"image = \"x\"\nentrypoint = [{ a = 1 }]":                "cannot decode config: element 0: string value is required",
		"image = \"x\"\nipc_mode = \"none\"\nshm_size = \"1m\"":  `shm_size cannot be used with ipc_mode "none"`,
		"image = \"x\"\nipc_mode = \"ns:/x\"\nshm_size = \"1m\"": `shm_size cannot be used with ipc_mode "ns:/x"`,
		"image = \"x\"\nmemory_reservation = \"3000000000b\"":    `memory_reservation: "3000000000b" is not a size: write a number with b, k, m or g`,
		"image = \"x\"\nmemory_swap = \"-1m\"":                   `memory_swap: "-1m" is not a size`,
	} {
		if c, err := decode(t, New(docker.Config{}), config, nil); c != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", config, c, err)
		}
	}
}

func TestDecodeWhatIsNoConfig(t *testing.T) {
	t.Parallel()
	o := settings.Defaults()
	for want, value := range map[string]cty.Value{
		"failed to decode driver config: it is missing": cty.NilVal,
		"failed to decode driver config: ":              cty.ObjectVal(map[string]cty.Value{"memory_swappiness": cty.StringVal("much")}),
	} {
		if c, err := settingsOf(&o, nil, &drivers.TaskConfig{Config: value}); c != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v, %v", c, err)
		}
	}
	d := New(docker.Config{})
	wrong := cty.ObjectVal(map[string]cty.Value{"recover_stopped": cty.StringVal("perhaps")})
	if err := d.SetConfig(wrong); err == nil || !strings.HasPrefix(err.Error(), "cannot configure podman: ") {
		t.Errorf("the error is %v", err)
	}
	if list := d.Unheeded(wrong); list != nil {
		t.Errorf("without effect are %v", list)
	}
}

// A Docker engine has the modes of Docker, and takes away what Podman would not
// give, unless the task asks for it.
func TestAdapt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in            settings.Config
		network, user string
		drop          []string
	}{
		"nothing": {drop: []string{"AUDIT_WRITE", "MKNOD", "NET_RAW"}},
		"kept":    {in: settings.Config{Common: settings.Common{NetworkMode: "bridge", CapAdd: []string{"all"}}, UsernsMode: "host"}, network: "bridge", user: "host"},
		"Podman's": {
			in:   settings.Config{Common: settings.Common{NetworkMode: "slirp4netns:mtu=1500", CapDrop: []string{"ALL"}}, UsernsMode: "keep-id"},
			drop: []string{"ALL"},
		},
	} {
		adapt(&c.in)
		if c.in.NetworkMode != c.network || c.in.UsernsMode != c.user || !slices.Equal(c.in.CapDrop, c.drop) {
			t.Errorf("%s: it is %+v", name, c.in)
		}
	}
}

// One of several sockets is used: that named default, or the first.
func TestSockets(t *testing.T) {
	t.Parallel()
	socket := func(name, path string) string {
		return "socket {\n  name = \"" + name + "\"\n  socket_path = \"" + path + "\"\n}\n"
	}
	for config, want := range map[string]string{
		socket("a", "/a") + socket("b", "/b"):       "/a",
		socket("a", "/a") + socket("", "/b"):        "/b",
		socket("default", "/a") + socket("b", "/b"): "/a",
	} {
		d := New(docker.Config{})
		value := drivertest.Config(t, d.ConfigSchema(), config)
		if err := d.SetConfig(value); err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		if o, err := d.options.general(); err != nil || o.Endpoint != want {
			t.Errorf("%s: %q, %v", config, o.Endpoint, err)
		}
		if list := d.Unheeded(value); len(list) != 1 || list[0].Option != "socket" || list[0].Instead != "all tasks use one engine: the one named default, or the first" {
			t.Errorf("without effect are %v", list)
		}
	}
	d := New(docker.Config{})
	if err := d.SetConfig(drivertest.Config(t, d.ConfigSchema(), "logging {\n  driver = \"nomad\"\n}")); err != nil {
		t.Fatal(err)
	}
	if o, err := d.options.general(); err != nil || !cmp.Equal(o.Logging, settings.Defaults().Logging) {
		t.Errorf("it logs to %+v, %v", o.Logging, err)
	}
}

// Only archives outside of the task are paths of this machine.
func TestHostPathsOfImages(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]string{
		"oci-archive:/opt/web": "/opt/web", "docker-archive:opt/web": "", "oci-archive:/local/web": "", "/opt/web": "", "web:1": "",
	} {
		var paths []string
		for _, found := range New(docker.Config{}).HostPaths(map[string]any{"image": image}) {
			paths = append(paths, found.Path)
		}
		if strings.Join(paths, " ") != want {
			t.Errorf("%s: %q", image, paths)
		}
	}
}

// An option without effect says what happens instead.
func TestUnheededSays(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, u := range New(docker.Config{}).UnheededInConfig(map[string]any{
		"init_path": "/i", "socket": "a", "static_ips": []any{"a", "b"}, "auth": map[string]any{"tls_verify": false},
	}) {
		got[u.Option] = u.Instead
	}
	want := map[string]string{
		"init_path": "the engine's own init is used", "socket": "all tasks use one engine",
		"static_ips": "only the first address of a family counts", "auth.tls_verify": "the engine's registries.conf decides",
	}
	if !maps.Equal(got, want) {
		t.Errorf("it is %q", got)
	}
}

// A socket whose service is not running is skipped.
func TestFindSkipsStaleSockets(t *testing.T) {
	t.Parallel()
	if err := check("/run/podman/podman.sock", 0); err == nil {
		t.Skip("there is a Podman")
	}
	dir, err := os.MkdirTemp("", "pm") //nolint:usetesting // its path must be short for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "podman", "podman.sock")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	env := func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": dir}[name] }
	if engine, err := find("", env, os.Getuid()); err != nil || engine.Host != "unix://"+path || !engine.Verify {
		t.Errorf("it is %+v, %v", engine, err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) //nolint:forcetypeassert // it is one
	_ = l.Close()
	if engine, err := find("", env, os.Getuid()); !errors.Is(err, errNoPodman) {
		t.Errorf("a stale one is used: %+v, %v", engine, err)
	}
}
