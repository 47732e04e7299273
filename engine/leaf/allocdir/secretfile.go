package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteSecret writes a file that only the task's user may read; name is
// relative to the task's directory, which no link can leave. It replaces the
// file atomically.
func (d *Dir) WriteSecret(task, name string, text []byte, owner *Owner) error {
	return d.replace(task, name, text, 0o600, owner)
}

// WriteToken is like WriteSecret for the token of a workload identity, with
// Nomad's mode and group: without an owner, everyone who can reach the file may
// read it.
func (d *Dir) WriteToken(task, name string, text []byte, owner *Owner) error {
	if owner == nil {
		return d.replace(task, name, text, 0o644, nil)
	}
	return d.replace(task, name, text, 0o600, &Owner{UID: owner.UID, GID: -1})
}

// WriteFile is like WriteSecret for a file that everyone who can reach it may
// read and execute.
func (d *Dir) WriteFile(task, name string, text []byte) error {
	return d.replace(task, name, text, 0o755, nil)
}

func (d *Dir) replace(task, name string, text []byte, mode fs.FileMode, owner *Owner) error {
	root, err := d.Task(task)
	if err != nil {
		return err
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("cannot write %q: %w", name, err)
	}
	temp := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".new")
	if err := root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write %q: %w", name, err)
	}
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.Write(text)
		if err == nil && owner != nil {
			err = f.Chown(owner.UID, owner.GID)
		}
		if err == nil && mode != 0o600 {
			err = f.Chmod(mode)
		}
		if closed := f.Close(); err == nil {
			err = closed
		}
	}
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
		return fmt.Errorf("cannot write %q: %w", name, err)
	}
	return nil
}
