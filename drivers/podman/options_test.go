package podman

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/drivers"
	"taskrun/drivers/docker"
	"taskrun/drivers/docker/settings"
	"taskrun/drivers/drivertest"
)

// TestSetConfig checks what the options of the plugin become.
func TestSetConfig(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]func(*settings.Options){
		``:                                   func(*settings.Options) {},
		`socket_path = "unix:///run/a.sock"`: func(o *settings.Options) { o.Endpoint = "unix:///run/a.sock" },
		"socket {\n  name = \"app\"\n  socket_path = \"/a\"\n}\nsocket {\n  name = \"default\"\n  socket_path = \"/b\"\n}": func(o *settings.Options) {
			o.Endpoint = "/b"
		},
		"volumes {\n  enabled = false\n  selinuxlabel = \"z\"\n}": func(o *settings.Options) { o.Volumes.Enabled, o.Volumes.SELinuxLabel = false, "z" },
		"logging {\n  driver = \"journald\"\n  options {\n    tag = \"t\"\n  }\n}": func(o *settings.Options) {
			o.Logging = &settings.LogOptions{Type: "journald", Config: map[string]string{"tag": "t"}}
		},
		"extra_labels = [\"job_*\"]\ndisable_log_collection = true\nauth {\n  helper = \"h\"\n}": func(o *settings.Options) {
			o.ExtraLabels, o.DisableLogCollection, o.Auth = []string{"job_*"}, true, &settings.AuthOptions{Helper: "h"}
		},
	} {
		d := New(docker.Config{})
		if err := d.SetConfig(drivertest.Config(t, d.ConfigSchema(), config)); err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		in := d.options
		got, err := in.general()
		o := settings.Defaults()
		want(&o)
		if diff := cmp.Diff(o, got); diff != "" || err != nil {
			t.Errorf("%s: %v, (-want +got):\n%s", config, err, diff)
		}
	}
}

func TestWrongConfig(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		"socket_path = \"/a\"\nsocket {\n  socket_path = \"/b\"\n}": "socket and socket_path cannot be used together",
		"logging {\n  driver = \"syslog\"\n}":                       `logging: invalid logging driver "syslog"`,
		"volumes {\n  selinuxlabel = \"shared\"\n}":                 `selinuxlabel "shared" is not one of z, Z`,
	} {
		d := New(docker.Config{})
		err := d.SetConfig(drivertest.Config(t, d.ConfigSchema(), config))
		if err == nil || !strings.Contains(err.Error(), "cannot configure podman: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", config, err)
		}
	}
}

// TestUnheeded checks which options of the plugin are reported as without effect.
func TestUnheeded(t *testing.T) {
	t.Parallel()
	d := New(docker.Config{})
	for config, want := range map[string][]string{
		"gc {\n  container = true\n}\nsocket_path = \"/a\"": nil,
		"gc {\n  container = false\n}\nrecover_stopped = true\nclient_http_timeout = \"1m\"\nnetworking {\n  default_rootless_mode = \"pasta\"\n}": {
			"gc.container", "networking.default_rootless_mode", "recover_stopped", "client_http_timeout",
		},
	} {
		var got []string
		for _, u := range d.Unheeded(drivertest.Config(t, d.ConfigSchema(), config)) {
			got = append(got, u.Option)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", config, diff)
		}
	}
}

// An archive of this machine is one of its paths, as the sources of volumes are.
func TestHostPaths(t *testing.T) {
	t.Parallel()
	got := New(docker.Config{}).HostPaths(map[string]any{
		"image": "docker-archive:/opt/web.tar:web:1", "volumes": []any{"/srv:/srv:ro", "local/x:/x"},
	})
	want := []drivers.HostPath{{Option: "volumes", Path: "/srv"}, {Option: "image", Path: "/opt/web.tar"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := New(docker.Config{}).HostPaths(map[string]any{"image": "docker-archive:/local/web.tar"}); got != nil {
		t.Errorf("%+v", got)
	}
}
