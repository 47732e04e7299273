package allocdir

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"taskrun/engine/leaf/safedir"
)

// Build creates the directory of an allocation and the shared ones. Existing
// directories are left alone.
func (d *Dir) Build() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	parent, err := os.OpenRoot(filepath.Dir(d.path))
	if err != nil {
		return fmt.Errorf("cannot open directory %q: %w", filepath.Dir(d.path), err)
	}
	defer parent.Close()
	gate, _, err := d.makeIn(parent, "", safedir.Gate)
	if err != nil {
		return err
	}
	if d.gateUID != os.Geteuid() {
		return nil // it was built, and then given to the user of all tasks; see admitAlone
	}
	shared, _, err := d.makeIn(gate, sharedEntry.name, sharedEntry.mode)
	if err != nil {
		return err
	}
	for _, e := range sharedEntries {
		path := filepath.Join(sharedEntry.name, e.name)
		if path == logs {
			_, _, err = d.makeIn(shared, path, e.in(d.guarded))
		} else {
			_, err = safedir.Make(shared, filepath.Join(d.path, sharedEntry.name), e.name, e.in(d.guarded))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// BuildTask creates the directories of a task, private to its user. A nil owner
// means the user who runs taskrun; another owner requires root. Existing
// directories are left alone.
func (d *Dir) BuildTask(task string, owner *Owner) error {
	if err := checkTask(task); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if owner != nil && owner.UID == os.Geteuid() {
		owner = nil
	}
	if _, err := d.getLocked(sharedEntry.name); err != nil { // finds out whether the allocation is guarded
		return err
	}
	gate, err := d.getLocked("")
	if err != nil {
		return err
	}
	if owner != nil {
		if err := d.guard(gate); err != nil {
			return err
		}
	}
	dir, made, err := d.makeIn(gate, task, taskEntry(task).in(d.guarded))
	if err != nil {
		return err
	}
	if !made {
		given, err := isGiven(dir, owner)
		if err != nil || given {
			return err
		}
	}
	path := filepath.Join(d.path, task)
	for _, e := range taskEntries {
		if _, err := safedir.Make(dir, path, e.name, e.in(d.guarded)); err != nil {
			return err
		}
		if owner != nil && e.given {
			if err := dir.Lchown(e.name, owner.UID, owner.GID); err != nil {
				return fmt.Errorf("cannot give directory %q to its user: %w", filepath.Join(path, e.name), err)
			}
		}
	}
	return d.admit(gate, dir, task, owner) // until here, the user can reach nothing of this
}

// Isolate prepares the directories of a task that gets them mounted into its
// own file system, for a user that only that file system knows: its secrets are
// open to all users, and the way to them on this machine is closed.
func (d *Dir) Isolate(task string) error {
	dir, err := d.Task(task)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	gate, err := d.getLocked("")
	if err == nil {
		err = d.guard(gate)
	}
	if err == nil {
		err = gate.Chmod(task, safedir.Gate)
	}
	if err == nil {
		err = dir.Chmod("secrets", isolatedSecrets)
	}
	if err != nil {
		return fmt.Errorf("cannot prepare the directories of task %q: %w", task, err)
	}
	return nil
}

// isGiven reports whether the directories of a task belong to another user, who
// may have changed them.
func isGiven(dir *os.Root, owner *Owner) (bool, error) {
	info, err := dir.Stat(".")
	if err != nil || safedir.UIDOf(info) != os.Geteuid() || owner == nil {
		return err == nil && safedir.UIDOf(info) != os.Geteuid(), err
	}
	return safedir.IsLetIn(dir, owner.UID, ownerAccess)
}

// makeIn creates a directory of the allocation, by relative path, and keeps it
// open. The parent is the directory above.
func (d *Dir) makeIn(parent *os.Root, name string, mode fs.FileMode) (dir *os.Root, made bool, err error) {
	if d.closed {
		return nil, false, d.errClosed(name)
	}
	path := filepath.Join(d.path, name)
	made, err = safedir.Make(parent, filepath.Dir(path), filepath.Base(path), mode)
	if err != nil {
		return nil, false, err
	}
	if !made || d.gateUID != os.Geteuid() { // a task may have replaced it
		dir, err = d.getLocked(name)
		return dir, made, err
	}
	if dir, err = parent.OpenRoot(filepath.Base(path)); err != nil {
		return nil, false, fmt.Errorf("cannot open directory %q: %w", path, err)
	}
	d.open[name] = dir
	return dir, true, nil
}
