package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/safedir"
)

// Inherit moves the sticky data, alloc/data and every task's local, out of the
// allocation to which the link points, and then points the link to this one.
// The directories of this allocation and its tasks must exist, and no task may
// have been started. Data that cannot be moved stays where it is and is
// reported; the link is changed all the same. Only directories are moved, not
// files that a task has put in their place.
func (d *Dir) Inherit(link string, tasks []string) error {
	var errs []error
	if path, ok := previous(link); ok && path != d.path {
		from := At(path)
		errs = append(errs, move(from, d, "alloc", sharedEntries[0]))
		for _, task := range tasks {
			errs = append(errs, move(from, d, task, taskEntries[0]))
		}
		errs = append(errs, from.Close())
	}
	return errors.Join(append(errs, setLink(link, d.path))...)
}

// previous returns the allocation to which a link points, if it still exists.
func previous(link string) (allocDir string, ok bool) {
	target, err := os.Readlink(link)
	if err != nil {
		return "", false
	}
	dir := filepath.Join(filepath.Dir(link), target)
	info, err := os.Lstat(dir)
	return dir, err == nil && info.IsDir()
}

// move moves a shared directory or a task's directory into the place of the
// empty one of another allocation. A missing one is no error.
func move(from, to *Dir, part string, e entry) error {
	source, err := from.get(part)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		var dest *os.Root
		if dest, err = to.get(part); err == nil {
			err = moveDir(source, dest, filepath.Join(to.path, part), e)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot move %q out of %q: %w", filepath.Join(part, e.name), from.path, err)
	}
	return nil
}

var errNoDir = errors.New("it is no longer a directory")

// moveDir moves a directory between two open directories; path is that of dest.
// A user of the source may replace it at any time, but cannot reach the
// destination yet, so it checks what has arrived.
func moveDir(source, dest *os.Root, path string, e entry) error {
	info, err := source.Lstat(e.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return errNoDir
	}
	if err := dest.Remove(e.name); err != nil {
		return err
	}
	if err = rename(source, dest, e.name); err == nil {
		err = checkArrived(dest, e.name)
	}
	if err == nil {
		return nil
	}
	_, makeErr := safedir.Make(dest, path, e.name, e.mode)
	return errors.Join(err, makeErr)
}

// checkArrived removes what was moved and returns an error if it is not a
// directory.
func checkArrived(dest *os.Root, name string) error {
	info, err := dest.Lstat(name)
	if err == nil && info.IsDir() {
		return nil
	}
	return errors.Join(errNoDir, err, dest.Remove(name))
}

// rename moves a file from one directory to the same name in another.
func rename(source, dest *os.Root, name string) error {
	from, err := source.Open(".")
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := dest.Open(".")
	if err != nil {
		return err
	}
	defer to.Close()
	return os.NewSyscallError("renameat", unix.Renameat(int(from.Fd()), name, int(to.Fd()), name))
}

// setLink points a link to an allocation, with a relative path.
func setLink(link, allocDir string) error {
	target, err := filepath.Rel(filepath.Dir(link), allocDir)
	if err == nil {
		err = safedir.MakePrivate(filepath.Dir(link))
	}
	if err != nil {
		return err
	}
	next := filepath.Join(filepath.Dir(link), "."+filepath.Base(link))
	_ = os.Remove(next) // left by a run that was killed
	if err = os.Symlink(target, next); err == nil {
		err = os.Rename(next, link)
	}
	if err != nil {
		return fmt.Errorf("cannot keep sticky data for the next run: %w", err)
	}
	return nil
}
