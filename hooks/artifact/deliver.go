package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"taskrun/engine/allocdir"
)

// deliver moves what was downloaded to its place, within the allocation: a
// directory is merged with what is there. No link is followed out of the
// allocation, whoever made it.
func (h *hook) deliver(o *order, from string, isDir bool) error {
	root, err := os.OpenRoot(h.task.AllocDir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	m := mover{root: root}
	if o.chown {
		if m.owner, err = allocdir.OwnerOf(h.task.Task.User); err != nil {
			return err
		}
	}
	to := o.dest
	if !isDir && o.mode != "file" {
		to = filepath.Join(to, o.name)
	}
	if from, err = filepath.Rel(h.task.AllocDir, from); err != nil {
		return err
	}
	if to, err = filepath.Rel(h.task.AllocDir, to); err != nil {
		return err
	}
	parent := to
	if !isDir {
		parent = filepath.Dir(to)
	}
	if err := m.mkdirAll(parent); err != nil {
		return fmt.Errorf("cannot make the destination: %w", err)
	}
	if err := m.give(from); err != nil {
		return fmt.Errorf("cannot give it to user %q: %w", h.task.Task.User, err)
	}
	if err := m.move(from, to); err != nil {
		return fmt.Errorf("cannot move it to the destination: %w", err)
	}
	return nil
}

// mover moves files within a directory.
type mover struct {
	root  *os.Root
	owner *allocdir.Owner // of all that is moved or made; nil: it stays
}

func (m mover) mkdirAll(dir string) error {
	if dir == "." {
		return nil
	}
	if err := m.mkdirAll(filepath.Dir(dir)); err != nil {
		return err
	}
	err := m.root.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		info, err := m.root.Stat(dir)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is a file", dir)
		}
		return err
	}
	if err == nil && m.owner != nil {
		err = m.root.Lchown(dir, m.owner.UID, m.owner.GID)
	}
	return err
}

// give gives all below a path to the owner.
func (m mover) give(name string) error {
	if m.owner == nil {
		return nil
	}
	return fs.WalkDir(m.root.FS(), name, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return m.root.Lchown(path, m.owner.UID, m.owner.GID)
	})
}

// move moves a file, in place of one that is there, or a directory, the files
// of which it moves one by one if there is such a directory already.
func (m mover) move(from, to string) error {
	info, err := m.root.Lstat(from)
	if err != nil {
		return err
	}
	there, err := m.root.Lstat(to)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err == nil && there.IsDir() && !info.IsDir():
		return fmt.Errorf("%s is a directory", to)
	case err == nil && info.IsDir() && there.IsDir():
		return m.merge(from, to, info)
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is no directory", to)
	case info.IsDir() && info.Mode().Perm()&0o200 == 0: // only its owner may write ".." anew
		if err := m.root.Chmod(from, info.Mode().Perm()|0o700); err != nil {
			return err
		}
		if err := m.root.Rename(from, to); err != nil {
			return err
		}
		return m.root.Chmod(to, info.Mode().Perm())
	}
	return m.root.Rename(from, to)
}

func (m mover) merge(from, to string, info fs.FileInfo) error {
	if err := m.root.Chmod(from, info.Mode().Perm()|0o700); err != nil {
		return err
	}
	dir, err := m.root.Open(from)
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	if err = errors.Join(err, dir.Close()); err != nil {
		return err
	}
	for _, name := range names {
		if err := m.move(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}
