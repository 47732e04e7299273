package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// entry is a directory to make.
type entry struct {
	name string
	mode fs.FileMode
}

var sharedEntries = []entry{{"data", 0o777}, {"logs", 0o777}, {"tmp", 0o777}}

var taskEntries = []entry{
	{"local", 0o777},
	{"tmp", 0o777 | fs.ModeSticky},
	{"secrets", 0o700},
	{"private", 0o700},
}

// Build makes an allocation's directory and those its tasks share. What exists
// already stays as it is.
func Build(allocDir string) (Shared, error) {
	if err := build(filepath.Dir(allocDir), entry{filepath.Base(allocDir), 0o755}, nil, nil); err != nil {
		return Shared{}, err
	}
	if err := build(allocDir, entry{"alloc", 0o777}, sharedEntries, nil); err != nil {
		return Shared{}, err
	}
	return SharedOf(allocDir), nil
}

// BuildTask makes a task's directories. They are given to the owner, if there
// is one, which takes root. What exists already stays as it is.
func BuildTask(allocDir, task string, owner *Owner) (Task, error) {
	if err := checkTask(task); err != nil {
		return Task{}, err
	}
	if err := build(allocDir, entry{task, 0o777}, taskEntries, owner); err != nil {
		return Task{}, err
	}
	return TaskOf(allocDir, task), nil
}

// Isolate prepares the directories of a task that sees them alone, mounted into
// a file system of its own, as a user whom only that file system knows: its
// secrets are open to all, and the way to them on this machine is closed.
func Isolate(allocDir, task string) error {
	root, err := os.OpenRoot(allocDir)
	if err != nil {
		return fmt.Errorf("cannot open directory %q: %w", allocDir, err)
	}
	defer root.Close()
	err = root.Chmod(task, 0o700)
	if err == nil {
		err = root.Chmod(filepath.Join(task, "secrets"), 0o777)
	}
	if err != nil {
		return fmt.Errorf("cannot prepare the directories of task %q: %w", task, err)
	}
	return nil
}

// build makes a directory in parent and others in it. It goes through os.Root
// since tasks can write there: it follows no link out of the directory.
func build(parent string, dir entry, inner []entry, owner *Owner) error {
	root, err := os.OpenRoot(parent)
	if err != nil {
		return fmt.Errorf("cannot open directory %q: %w", parent, err)
	}
	defer root.Close()
	if err := makeDir(root, dir, owner); err != nil || len(inner) == 0 {
		return err
	}
	sub, err := root.OpenRoot(dir.name)
	if err != nil {
		return fmt.Errorf("cannot open directory %q: %w", filepath.Join(parent, dir.name), err)
	}
	defer sub.Close()
	for _, e := range inner {
		if err := makeDir(sub, e, owner); err != nil {
			return err
		}
	}
	return nil
}

func makeDir(root *os.Root, e entry, owner *Owner) error {
	err := root.Mkdir(e.name, e.mode.Perm())
	if errors.Is(err, fs.ErrExist) {
		if info, statErr := root.Lstat(e.name); statErr == nil && info.IsDir() {
			return nil
		}
		err = errors.New("a file is in the way")
	}
	if err == nil {
		err = root.Chmod(e.name, e.mode) // whatever the umask
	}
	if err == nil && owner != nil {
		err = root.Lchown(e.name, owner.UID, owner.GID)
	}
	if err != nil {
		return fmt.Errorf("cannot make directory %q: %w", filepath.Join(root.Name(), e.name), err)
	}
	return nil
}
