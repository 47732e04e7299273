// Package csiplugin is the task hook that gives a task with a csi_plugin block
// the address of the socket that it must create, CSI_ENDPOINT. Nothing connects
// to it: volumes of type csi are folders of this machine. See
// https://developer.hashicorp.com/nomad/docs/job-specification/csi_plugin.
package csiplugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"taskrun/drivers"
	"taskrun/hooks"
)

const (
	variable = "CSI_ENDPOINT"
	folder   = "csi" // of the socket, in the task's directory
	socket   = "csi.sock"
)

type hook struct{ task hooks.Task }

// New returns the hook of a task, or nil if it is no CSI plugin.
func New(t hooks.Task) hooks.TaskHook {
	if t.Task.CSIPluginConfig == nil {
		return nil
	}
	return &hook{t}
}

func (h *hook) Name() string { return "csi_plugin_supervisor" }

// Prestart creates the folder of the socket, which a task with a file system of
// its own sees as mount_dir. As in Nomad, the env block of the task can set
// another address.
func (h *hook) Prestart(_ context.Context, req *hooks.PrestartRequest, resp *hooks.PrestartResponse) error {
	if err := h.makeFolder(); err != nil {
		return fmt.Errorf("cannot create the folder of the CSI socket: %w", err)
	}
	dir := filepath.Join(req.TaskDir, folder)
	if h.task.Driver.FSIsolation != drivers.FSIsolationNone {
		mount := drivers.Mount{HostPath: dir, TaskPath: h.task.Task.CSIPluginConfig.MountDir}
		resp.Mounts, dir = []drivers.Mount{mount}, mount.TaskPath
	}
	if _, set := h.task.Task.Env[variable]; !set {
		resp.Env = map[string]string{variable: "unix://" + filepath.Join(dir, socket)}
	}
	return nil
}

func (h *hook) makeFolder() error {
	root, err := h.task.Dir.Task(h.task.Task.Name)
	if err != nil {
		return err
	}
	if err := root.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// An earlier start of the task may have put a link there, which a mount would follow.
	if info, err := root.Lstat(folder); err != nil || !info.IsDir() {
		return cmp.Or(err, fmt.Errorf("%q is not a directory", folder))
	}
	if owner := h.task.Owner(); owner != nil {
		return root.Lchown(folder, owner.UID, owner.GID)
	}
	return nil
}
