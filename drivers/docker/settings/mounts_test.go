package settings

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
)

// hostConfig returns the host's part of the container of a task.
func hostConfig(b *Builder, cfg *drivers.TaskConfig, c *Config) (*container.HostConfig, error) {
	made, err := b.Container(cfg, c)
	return made.HostConfig, err
}

// Every task has its directories, with its label if there is one, and the volumes
// of its group.
func TestMountsOfATask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, shared := allocdir.TaskOf(dir, "t"), allocdir.SharedOf(dir)
	cfg := &drivers.TaskConfig{Name: "t", AllocDir: dir, Mounts: []drivers.Mount{
		{HostPath: "/one", TaskPath: "/1", Readonly: true, PropagationMode: "host-to-task"},
		{HostPath: "/two", TaskPath: "/2", PropagationMode: "bidirectional"},
	}}
	volumes := []mount.Mount{
		{Type: "bind", Source: "/one", Target: "/1", ReadOnly: true, BindOptions: &mount.BindOptions{Propagation: "rslave"}},
		{Type: "bind", Source: "/two", Target: "/2", BindOptions: &mount.BindOptions{Propagation: "rshared"}},
	}
	for label, want := range map[string]*container.HostConfig{
		"": {Mounts: append([]mount.Mount{
			{Type: "bind", Source: shared.Dir, Target: "/alloc"},
			{Type: "bind", Source: shared.Logs, Target: "/alloc/logs", ReadOnly: true},
			{Type: "bind", Source: own.Local, Target: "/local"},
			{Type: "bind", Source: own.Secrets, Target: "/secrets"},
		}, volumes...)},
		"z": {Mounts: volumes, Binds: []string{
			shared.Dir + ":/alloc:rw,z", shared.Logs + ":/alloc/logs:ro,z", own.Local + ":/local:rw,z", own.Secrets + ":/secrets:rw,z",
		}},
	} {
		o := Defaults()
		o.Volumes.SELinuxLabel = label
		host, err := hostConfig(&Builder{Options: &o}, cfg, &Config{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]any{want.Mounts, want.Binds}, []any{host.Mounts, host.Binds}); diff != "" {
			t.Errorf("label %q (-want +got):\n%s", label, diff)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := Defaults()
	if _, err := hostConfig(&Builder{Options: &o}, &drivers.TaskConfig{Name: "t", AllocDir: file}, &Config{}); err == nil || !strings.HasPrefix(err.Error(), "cannot make directory") {
		t.Errorf("in a file: %v", err)
	}
}

// A volume has its source in the task's directories, which is made, or on this
// machine if that is allowed.
func TestVolumes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, shared := allocdir.TaskOf(dir, "t"), allocdir.SharedOf(dir)
	if err := os.MkdirAll(own.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(own.Dir, "file")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink("/", filepath.Join(own.Dir, "out"))); err != nil {
		t.Fatal(err)
	}
	forbidden := func(b *Builder) { b.Options.Volumes.Enabled = false }
	labeled := func(b *Builder) { b.Options.Volumes.SELinuxLabel = "Z" }
	found := func(path string, err error) func(b *Builder) {
		return func(b *Builder) { b.HostPath = func(string) (string, error) { return path, err } }
	}
	for name, tt := range map[string]struct {
		volume, driver string
		change         func(*Builder)
		want, err      string
	}{
		"a relative path":              {"data/x:/x", "", forbidden, own.Dir + "/data/x:/x", ""},
		"a mode":                       {"data/x:/x:ro", "", nil, own.Dir + "/data/x:/x:ro", ""},
		"a file":                       {"file:/x", "", nil, file + ":/x", ""},
		"the shared directory":         {"/alloc:/x", "", forbidden, shared.Dir + ":/x", ""},
		"in the shared directory":      {"/alloc/../alloc/a:/x", "", forbidden, shared.Dir + "/a:/x", ""},
		"in the local directory":       {"/local/a:/x", "", forbidden, own.Local + "/a:/x", ""},
		"in the secrets directory":     {"/secrets/a:/x", "", forbidden, own.Secrets + "/a:/x", ""},
		"of another task":              {"../other:/x", "", forbidden, dir + "/other:/x", ""},
		"of another allocation":        {"../../other:/x", "", forbidden, "", "volumes are not enabled; cannot mount host paths"},
		"a name that only looks alike": {"/allocate:/x", "", forbidden, "", `volumes are not enabled; cannot mount host paths: "/allocate"`},
		"of this machine":              {"/none/../etc:/x", "", nil, "/etc:/x", ""},
		"a replacement":                {"/etc:/x", "", found("/copy", nil), "/copy:/x", ""},
		"no replacement":               {"/etc:/x", "", found("", nil), "", ""},
		"a replacement that fails":     {"/etc:/x", "", found("", errors.New("no room")), "", "no room"},
		"a colon":                      {"/etc:/x", "", found("/a:b", nil), "", `cannot mount volume "/etc:/x": its source "/a:b" has a colon; use a mount block`},
		"a label":                      {"data/x:/x", "", labeled, own.Dir + "/data/x:/x:Z", ""},
		"a label and a mode":           {"data/x:/x:ro", "", labeled, own.Dir + "/data/x:/x:ro,Z", ""},
		"a driver":                     {"data:/x", "other", labeled, "data:/x", ""},
		"no target":                    {"data", "", nil, "", `invalid docker volume "data": not <src>:<destination> format`},
		"an empty source":              {":/x", "", nil, "", `invalid docker volume ":/x"`},
		"an empty target":              {"data:", "", nil, "", `invalid docker volume "data:"`},
		"too many parts":               {"data:/x:ro:z", "", nil, "", `invalid docker volume "data:/x:ro:z"`},
		"out of the allocation":        {"out/none/x:/x", "", nil, "", "cannot make the source of a volume"},
	} {
		o := Defaults()
		b := &Builder{Options: &o}
		if tt.change != nil {
			tt.change(b)
		}
		host := &container.HostConfig{}
		err := b.mount(&drivers.TaskConfig{Name: "t", AllocDir: dir}, &Config{Common: Common{Volumes: []string{tt.volume}}, VolumeDriver: tt.driver}, host)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", name, err, tt.err)
		}
		binds := slices.DeleteFunc(host.Binds, func(text string) bool { return strings.HasPrefix(text, dir) && !strings.Contains(text, ":/x") })
		if got := strings.Join(binds, " "); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		source, _, _ := strings.Cut(tt.want, ":")
		if _, err := os.Stat(source); strings.HasPrefix(source, dir) && err != nil {
			t.Errorf("%s: the source was not made: %v", name, err)
		}
	}
	if err := makeSource(&drivers.TaskConfig{AllocDir: dir + "/gone"}, dir+"/gone/x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in an allocation that is gone: %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.IsDir() {
		t.Errorf("the file: %v", err)
	}
}

// A mount block has the options of its type.
func TestMountBlocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	type object = map[string]cty.Value
	text := cty.StringVal
	blocks := func(o object) cty.Value { return cty.TupleVal([]cty.Value{cty.ObjectVal(o)}) }
	of := func(kind string, more object) object {
		o := object{"target": text("/x")}
		if kind != "" {
			o["type"] = text(kind)
		}
		for name, value := range more {
			o[name] = value
		}
		return o
	}
	for name, tt := range map[string]struct {
		block object
		want  *mount.Mount
		err   string
	}{
		"a volume":             {of("", object{"source": text("v"), "readonly": cty.True}), &mount.Mount{Type: "volume", Source: "v", Target: "/x", ReadOnly: true}, ""},
		"a volume by its type": {of("volume", object{"source": text("v")}), &mount.Mount{Type: "volume", Source: "v", Target: "/x"}, ""},
		"a volume with options": {of("volume", object{"volume_options": cty.ObjectVal(object{
			"no_copy": cty.True, "labels": blocks(object{"a": text("b")}),
			"driver_config": cty.ObjectVal(object{"name": text("nfs"), "options": blocks(object{"o": text("addr")})}),
		})}), &mount.Mount{Type: "volume", Target: "/x", VolumeOptions: &mount.VolumeOptions{
			NoCopy: true, Labels: map[string]string{"a": "b"}, DriverConfig: &mount.Driver{Name: "nfs", Options: map[string]string{"o": "addr"}},
		}}, ""},
		"a volume with labels": {of("volume", object{"volume_options": cty.ObjectVal(object{"labels": blocks(object{"a": text("b")})})}), &mount.Mount{
			Type: "volume", Target: "/x", VolumeOptions: &mount.VolumeOptions{Labels: map[string]string{"a": "b"}},
		}, ""},
		"a directory": {of("bind", object{"source": text("/alloc/a")}), &mount.Mount{Type: "bind", Source: allocdir.SharedOf(dir).Dir + "/a", Target: "/x"}, ""},
		"a directory with options": {of("bind", object{"source": text("/alloc"), "bind_options": cty.ObjectVal(object{"propagation": text("rshared")})}), &mount.Mount{
			Type: "bind", Source: allocdir.SharedOf(dir).Dir, Target: "/x", BindOptions: &mount.BindOptions{Propagation: "rshared"},
		}, ""},
		"a directory of this machine": {of("bind", object{"source": text("/etc")}), nil, `volumes are not enabled; cannot mount host paths: "/etc"`},
		"memory":                      {of("tmpfs", nil), &mount.Mount{Type: "tmpfs", Target: "/x"}, ""},
		"memory with options": {of("tmpfs", object{"tmpfs_options": cty.ObjectVal(object{"size": cty.NumberIntVal(4096), "mode": cty.NumberIntVal(0o700)})}), &mount.Mount{
			Type: "tmpfs", Target: "/x", TmpfsOptions: &mount.TmpfsOptions{SizeBytes: 4096, Mode: 0o700},
		}, ""},
		"memory with a source": {of("tmpfs", object{"source": text("v")}), nil, `invalid source, must be "" for tmpfs`},
		"another type":         {of("npipe", nil), nil, `invalid mount type, must be "bind", "volume", "tmpfs": "npipe"`},
	} {
		o := Defaults()
		o.Volumes.Enabled = false
		c, err := o.Decode(cty.ObjectVal(object{"image": text("i"), "mount": blocks(tt.block)}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		host, err := hostConfig(&Builder{Options: &o}, &drivers.TaskConfig{Name: "t", AllocDir: dir}, c)
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s: %v, want %q", name, err, tt.err)
			}
			continue
		}
		if err != nil || len(host.Mounts) != 5 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(*tt.want, host.Mounts[4], cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	o := Defaults()
	b := &Builder{Options: &o, HostPath: func(string) (string, error) { return "", nil }}
	if made, err := b.mountBlock(&drivers.TaskConfig{AllocDir: dir}, Mount{Type: "bind", Source: "/run/x.sock"}); made != nil || err != nil {
		t.Errorf("a socket without a replacement: %+v, %v", made, err)
	}
}

// Paths outside of the allocation are known before they are evaluated.
func TestHostPaths(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	got := HostPaths(object{
		"volumes": []any{
			"/etc:/x", "data:/x", "../other:/x", "../../above:/x", "/alloc/a:/x", "/alloc:/x", "/allocate", "/local/a", "/secrets", "${NOMAD_TASK_DIR}/a:/x", "${var.dir}:/x", 7,
		},
		"mount":  []object{{"type": "bind", "source": "/one"}, {"type": "volume", "source": "/two"}, {"source": "/three"}},
		"mounts": object{"type": "bind", "source": "/four"},
	})
	want := []drivers.HostPath{
		{Option: "volumes", Path: "/etc"},
		{Option: "volumes", Path: "../../above"},
		{Option: "volumes", Path: "/allocate"},
		{Option: "volumes", Path: "${var.dir}"},
		{Option: "mount", Path: "/one"},
		{Option: "mounts", Path: "/four"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Elements(nil); got != nil {
		t.Errorf("the elements of nothing are %v", got)
	}
	if got := HostPaths(object{"volume_driver": "nfs", "volumes": []any{"/etc:/x"}}); got != nil {
		t.Errorf("with a volume driver: %+v", got)
	}
}
