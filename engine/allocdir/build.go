package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Build makes the directory of an allocation and those that its tasks share. A
// directory that exists stays as it is.
func (d *Dir) Build() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	parent, err := os.OpenRoot(filepath.Dir(d.path))
	if err != nil {
		return fmt.Errorf("cannot open directory %q: %w", filepath.Dir(d.path), err)
	}
	defer parent.Close()
	if err := makeDir(parent, filepath.Dir(d.path), filepath.Base(d.path), gateMode); err != nil {
		return err
	}
	gate, err := d.getLocked("")
	if err != nil {
		return err
	}
	if uid, err := ownerOf(gate); err != nil || uid != os.Geteuid() {
		return err // it was built, and then given to the user of all tasks; see admitAlone
	}
	if err := makeDir(gate, d.path, sharedEntry.name, sharedEntry.mode); err != nil {
		return err
	}
	shared, err := d.getLocked(sharedEntry.name)
	if err != nil {
		return err
	}
	for _, e := range sharedEntries {
		if err := makeDir(shared, filepath.Join(d.path, sharedEntry.name), e.name, e.in(d.guarded)); err != nil {
			return err
		}
	}
	_, err = d.getLocked("alloc/logs")
	return err
}

// BuildTask makes the directories of a task, for its user alone. A nil owner is
// the user who runs taskrun; another one takes root. A directory that exists
// stays as it is.
func (d *Dir) BuildTask(task string, owner *Owner) error {
	if err := checkTask(task); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if owner != nil && owner.UID == os.Geteuid() {
		owner = nil
	}
	if _, err := d.getLocked(sharedEntry.name); err != nil { // tells whether the allocation is guarded
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
	if err := makeDir(gate, d.path, task, taskEntry(task).in(d.guarded)); err != nil {
		return err
	}
	dir, err := d.getLocked(task)
	if err != nil {
		return err
	}
	given, err := isGiven(dir, owner)
	if err != nil || given {
		return err
	}
	path := filepath.Join(d.path, task)
	for _, e := range taskEntries {
		if err := makeDir(dir, path, e.name, e.in(d.guarded)); err != nil {
			return err
		}
		if owner != nil && e.given {
			if err := dir.Lchown(e.name, owner.UID, owner.GID); err != nil {
				return fmt.Errorf("cannot give directory %q to its user: %w", filepath.Join(path, e.name), err)
			}
		}
	}
	return d.admit(gate, dir, task, owner) // until now the user can reach nothing of this
}

// Isolate prepares the directories of a task that sees them alone, mounted into
// a file system of its own, as a user whom only that file system knows: its
// secrets are open to all, and the way to them on this machine is closed.
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
		err = gate.Chmod(task, gateMode)
	}
	if err == nil {
		err = dir.Chmod("secrets", isolatedSecrets)
	}
	if err != nil {
		return fmt.Errorf("cannot prepare the directories of task %q: %w", task, err)
	}
	return nil
}

// isGiven reports whether the directories of a task were given to another user,
// who may have changed them since.
func isGiven(dir *os.Root, owner *Owner) (bool, error) {
	uid, err := ownerOf(dir)
	if err != nil || uid != os.Geteuid() || owner == nil {
		return uid != os.Geteuid(), err
	}
	return isLetIn(dir, owner.UID, ownerAccess)
}

// makeDir makes a directory in parent, whose path is for messages. One that
// exists stays as it is.
func makeDir(parent *os.Root, path, name string, mode fs.FileMode) error {
	err := parent.Mkdir(name, mode.Perm())
	if errors.Is(err, fs.ErrExist) {
		if info, statErr := parent.Lstat(name); statErr == nil && info.IsDir() {
			return nil
		}
		err = errors.New("a file is in the way")
	}
	if err == nil && mode != gateMode {
		err = parent.Chmod(name, mode) // despite the umask, and for the sticky bit
	}
	if err != nil {
		return fmt.Errorf("cannot make directory %q: %w", filepath.Join(path, name), err)
	}
	return nil
}

func ownerOf(dir *os.Root) (uid int, err error) {
	info, err := dir.Stat(".")
	if err != nil {
		return 0, err
	}
	return int(info.Sys().(*syscall.Stat_t).Uid), nil
}
