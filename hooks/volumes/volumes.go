// Package volumes is the task hook that gives a task its volumes, which are
// folders of this machine. They are mounted if the driver supports it, and
// otherwise linked into the task's directory. See
// https://developer.hashicorp.com/nomad/docs/job-specification/volume_mount.
package volumes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/datadir"
	"taskrun/hooks"
)

// Config says where volumes are.
type Config struct {
	DataDir string
	// Stub returns the stub of a volume, a folder, by the volume's source. The
	// folder of a volume without a stub is in DataDir and remains when the run
	// ends. Stub may be nil.
	Stub func(source string) (path string, readOnly, ok bool)
}

// New returns a factory of hooks. Tasks without volume mounts get none.
func New(cfg Config) hooks.TaskFactory {
	return func(t hooks.Task) hooks.TaskHook {
		if len(t.Task.VolumeMounts) == 0 {
			return nil
		}
		return &hook{cfg, t}
	}
}

type hook struct {
	cfg  Config
	task hooks.Task
}

func (h *hook) Name() string { return "volumes" }

// Prestart finds the folder of every mount before each start. A driver without
// isolation cannot mount them; its task gets links.
func (h *hook) Prestart(_ context.Context, req *hooks.PrestartRequest, resp *hooks.PrestartResponse) error {
	for _, m := range h.task.Task.VolumeMounts {
		if m.Volume == nil {
			continue // Nomad ignores it, and validation has warned about it
		}
		name, at := req.Env.Replace(*m.Volume), req.Env.Replace(deref(m.Destination))
		volume := h.task.Group.Volumes[name]
		if volume == nil {
			return fmt.Errorf("volume %q is not defined in group %q", name, *h.task.Group.Name)
		}
		dir, readOnly, err := h.find(volume)
		if err != nil {
			return fmt.Errorf("volume %q: %w", name, err)
		}
		if h.task.Driver.FSIsolation == drivers.FSIsolationNone {
			root, err := h.task.Dir.Task(h.task.Task.Name)
			if err == nil {
				err = link(root, at, dir)
			}
			if err != nil {
				return fmt.Errorf("volume %q: %w", name, err)
			}
			continue
		}
		resp.Mounts = append(resp.Mounts, drivers.Mount{
			HostPath:        dir,
			TaskPath:        at,
			Readonly:        readOnly || volume.ReadOnly || deref(m.ReadOnly),
			PropagationMode: req.Env.Replace(deref(m.PropagationMode)),
		})
	}
	return nil
}

// find returns the folder of a volume. The folder of a stub must exist: nothing
// is created outside of the data directory.
func (h *hook) find(v *api.VolumeRequest) (dir string, readOnly bool, err error) {
	source := v.Source
	if v.PerAlloc {
		source += h.task.Alloc.Name[strings.LastIndexByte(h.task.Alloc.Name, '['):]
	}
	if h.cfg.Stub != nil {
		if dir, readOnly, ok := h.cfg.Stub(source); ok {
			if _, err := os.Stat(dir); err != nil {
				return "", false, fmt.Errorf("the folder of the stub for host volume %q does not exist: %w", source, err)
			}
			return dir, readOnly, nil
		}
	}
	var owner *allocdir.Owner
	if h.task.Driver.FSIsolation == drivers.FSIsolationNone { // with isolation, tasks reach the volume by its mount
		if owner, err = allocdir.OwnerOf(h.task.Task.User); err != nil {
			return "", false, err
		}
	}
	dir, err = datadir.MakeVolume(h.cfg.DataDir, source, owner)
	return dir, false, err
}

func deref[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

// link makes a path in the task's directory (the root of absolute paths) a link
// to a folder. It replaces an existing link of an earlier start or run.
func link(root *os.Root, destination, folder string) error {
	name := filepath.Clean("/" + destination)[1:]
	if name == "" {
		return fmt.Errorf("destination %q is the task's directory itself", destination)
	}
	info, err := root.Lstat(name)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink == 0:
		return fmt.Errorf("destination %q: something else is there", destination)
	case err == nil:
		err = root.Remove(name)
	case errors.Is(err, fs.ErrNotExist):
		err = root.MkdirAll(filepath.Dir(name), 0o777)
	}
	if err == nil {
		err = root.Symlink(folder, name)
	}
	if err != nil {
		return fmt.Errorf("cannot link %q to %q: %w", destination, folder, err)
	}
	return nil
}
