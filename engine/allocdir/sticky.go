package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// StickyLink is the path of the link to the allocation that has the sticky data
// of a group's slot. It outlives the run, unless the job is one that runs in
// the name of the run's.
func (r *Run) StickyLink(jobID, group string, index int) string {
	slot := escape(fmt.Sprintf("%s[%d]", group, index))
	if escape(jobID) == filepath.Base(r.jobDir) {
		return filepath.Join(r.jobDir, "sticky", slot)
	}
	return filepath.Join(r.Dir, "sticky", escape(jobID), slot)
}

// Inherit moves what sticks, alloc/data and every task's local, out of the
// allocation that the link leads to, and then makes it lead to this one. The
// directories of this one and of its tasks must exist. What cannot be moved
// stays where it is; the error tells of it, and the link is changed all the
// same. Links that a task has put in place of a directory are not followed.
func Inherit(link, allocDir string, tasks []string) error {
	var errs []error
	if from, ok := previous(link); ok && from != allocDir {
		errs = append(errs, move(from, allocDir, "alloc/data"))
		for _, task := range tasks {
			errs = append(errs, move(from, allocDir, filepath.Join(task, "local")))
		}
	}
	return errors.Join(append(errs, setLink(link, allocDir))...)
}

// previous returns the allocation that a link leads to, if it is still there.
func previous(link string) (allocDir string, ok bool) {
	target, err := os.Readlink(link)
	if err != nil {
		return "", false
	}
	dir := filepath.Join(filepath.Dir(link), target)
	info, err := os.Lstat(dir)
	return dir, err == nil && info.IsDir()
}

// move moves a directory into the place of the empty one of another allocation
// of the same job.
func move(from, to, dir string) error {
	common := from
	for !strings.HasPrefix(to, common+string(filepath.Separator)) {
		common = filepath.Dir(common)
	}
	root, err := os.OpenRoot(common)
	if err == nil {
		defer func() { _ = root.Close() }()
		err = moveDir(root, filepath.Join(from[len(common)+1:], dir), filepath.Join(to[len(common)+1:], dir))
	}
	if err != nil {
		return fmt.Errorf("cannot move %q out of %q: %w", dir, from, err)
	}
	return nil
}

// moveDir moves a directory to where an empty one is. A missing one is no error.
func moveDir(root *os.Root, from, to string) error {
	info, err := root.Lstat(from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return errors.New("it is no directory any more")
	}
	if err := root.Remove(to); err != nil {
		return err
	}
	if err := root.Rename(from, to); err != nil {
		return errors.Join(err, makeDir(root, entry{to, 0o777}, nil))
	}
	return nil
}

// setLink makes a link lead to an allocation, by a relative path.
func setLink(link, allocDir string) error {
	target, err := filepath.Rel(filepath.Dir(link), allocDir)
	if err == nil {
		err = makePrivate(filepath.Dir(link))
	}
	if err != nil {
		return err
	}
	next := filepath.Join(filepath.Dir(link), "."+filepath.Base(link))
	_ = os.Remove(next) // of a run that was killed
	if err = os.Symlink(target, next); err == nil {
		err = os.Rename(next, link)
	}
	if err != nil {
		return fmt.Errorf("cannot keep sticky data for the next run: %w", err)
	}
	return nil
}
