package csiplugin

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
	"taskrun/hooks"
)

// A task with a file system of its own finds the folder of the socket at
// mount_dir, another one in its directory, at each start.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fs   drivers.FSIsolation
		env  map[string]string
		want map[string]string // nil: in the task's directory
		none bool
	}{
		"image":      {fs: drivers.FSIsolationImage, want: map[string]string{"CSI_ENDPOINT": "unix:///csi/csi.sock"}},
		"no":         {fs: drivers.FSIsolationNone},
		"by the env": {fs: drivers.FSIsolationNone, env: map[string]string{"CSI_ENDPOINT": "unix:///run/x"}, none: true},
	} {
		dir := allocdir.At(t.TempDir())
		t.Cleanup(func() { _ = dir.Close() })
		if err := errors.Join(dir.Build(), dir.BuildTask("t", nil)); err != nil {
			t.Fatal(err)
		}
		task := &api.Task{Name: "t", Env: tt.env, CSIPluginConfig: &api.TaskCSIPluginConfig{ID: "p", Type: "node", MountDir: "/csi"}}
		h := New(hooks.Task{Task: task, AllocDir: dir.Path(), Dir: dir, Driver: drivers.Capabilities{FSIsolation: tt.fs}})
		taskDir := filepath.Join(dir.Path(), "t")
		folder := filepath.Join(taskDir, "csi")
		if tt.want == nil && !tt.none {
			tt.want = map[string]string{"CSI_ENDPOINT": "unix://" + folder + "/csi.sock"}
		}
		for range 2 {
			var resp hooks.PrestartResponse
			if err := h.(hooks.TaskPrestart).Prestart(t.Context(), &hooks.PrestartRequest{TaskDir: taskDir}, &resp); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, resp.Env); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			mounted := len(resp.Mounts) == 1 && resp.Mounts[0].HostPath == folder && resp.Mounts[0].TaskPath == "/csi"
			if mounted != (tt.fs == drivers.FSIsolationImage) {
				t.Errorf("%s: mounts %+v", name, resp.Mounts)
			}
			if info, err := os.Stat(folder); err != nil || !info.IsDir() {
				t.Errorf("%s: no folder: %v", name, err)
			}
		}
	}
	if New(hooks.Task{Task: &api.Task{Name: "t"}}) != nil {
		t.Error("a task without csi_plugin has the hook")
	}
}

// A task cannot have another directory mounted by putting a link to it in place of the
// folder.
func TestLinkInPlaceOfTheFolder(t *testing.T) {
	t.Parallel()
	dir := allocdir.At(t.TempDir())
	t.Cleanup(func() { _ = dir.Close() })
	taskDir := filepath.Join(dir.Path(), "t")
	if err := errors.Join(dir.Build(), dir.BuildTask("t", nil), os.Symlink("/", filepath.Join(taskDir, "csi"))); err != nil {
		t.Fatal(err)
	}
	task := &api.Task{Name: "t", CSIPluginConfig: &api.TaskCSIPluginConfig{ID: "p", Type: "node", MountDir: "/csi"}}
	h := New(hooks.Task{Task: task, AllocDir: dir.Path(), Dir: dir, Driver: drivers.Capabilities{FSIsolation: drivers.FSIsolationChroot}})
	var resp hooks.PrestartResponse
	err := h.(hooks.TaskPrestart).Prestart(t.Context(), &hooks.PrestartRequest{TaskDir: taskDir}, &resp)
	if err == nil || len(resp.Mounts) > 0 {
		t.Errorf("%v, mounts %+v", err, resp.Mounts)
	}
}
