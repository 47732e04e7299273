package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"taskrun/engine/leaf/safedir"
)

// Remove removes an allocation's directory with all that is in it, and what is kept
// beside it. It refuses one in which something is mounted. A missing one is no error.
func Remove(allocDir string) error {
	times := os.RemoveAll(TimesOf(allocDir))
	if times != nil {
		times = fmt.Errorf("cannot remove the times of the output: %w", times)
	}
	return errors.Join(removeStaging(allocDir), times, safedir.RemoveIn(filepath.Dir(allocDir), filepath.Base(allocDir)))
}

// RemoveSecrets removes secrets and private of every task in the allocation,
// and its staging directory.
func (d *Dir) RemoveSecrets() error {
	alloc, err := d.Alloc()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{removeStaging(d.path)}
	var entries []fs.DirEntry
	var mounts safedir.Mounts
	if err == nil {
		entries, err = fs.ReadDir(alloc.FS(), ".")
	}
	if err == nil {
		mounts, err = safedir.MountsIn(d.path)
	}
	if err != nil {
		return fmt.Errorf("cannot remove the secrets in %q: %w", d.path, errors.Join(append(errs, err)...))
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == sharedEntry.name {
			continue
		}
		task, err := d.Task(e.Name())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r := safedir.NewRemover(task, filepath.Join(d.path, e.Name()), mounts.Below(e.Name()))
		errs = append(errs, r.Remove("secrets"), r.Remove("private"))
	}
	return errors.Join(errs...)
}

// RemovePipes removes the pipes of the tasks' output.
func (d *Dir) RemovePipes() error {
	logs, err := d.Logs()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(logs.FS(), ".")
	errs := []error{err}
	for _, e := range entries {
		if e.Type() == fs.ModeNamedPipe {
			errs = append(errs, logs.Remove(e.Name()))
		}
	}
	return errors.Join(errs...)
}
