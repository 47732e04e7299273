package artifact

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/allocdir"
	"taskrun/hooks"
)

// deliver moves a download, at the path from in the stage, to its place in the
// allocation; a directory is merged with an existing one. Tasks may change the
// allocation meanwhile, so each step starts at an open directory and follows no
// link.
//
// The remaining race is harmless: if a task moves one of its directories away
// during a delivery, the rest of the artifact ends up there.
func deliver(task hooks.Task, o *order, stage *os.Root, from string, isDir bool) error {
	m := mover{}
	var err error
	if o.chown {
		if m.owner, err = allocdir.OwnerOf(task.Task.User); err != nil {
			return err
		}
	}
	if err := m.give(stage, from); err != nil {
		return fmt.Errorf("cannot give it to user %q: %w", task.Task.User, err)
	}
	parentOfFrom, err := stage.Open(filepath.Dir(from))
	if err != nil {
		return err
	}
	defer func() { _ = parentOfFrom.Close() }()
	m.stage = dir{parentOfFrom}
	to, err := filepath.Rel(task.AllocDir, o.dest)
	if err != nil {
		return err
	}
	if !isDir && o.mode != "file" {
		to = filepath.Join(to, o.name)
	}
	parent := to
	if !isDir {
		parent = filepath.Dir(to)
	}
	alloc, err := openDir(task.AllocDir)
	if err != nil {
		return err
	}
	dest, err := m.enterAll(alloc, parent)
	if err != nil {
		return fmt.Errorf("cannot make the destination: %w", err)
	}
	defer func() { _ = dest.Close() }()
	if isDir {
		err = m.merge(m.stage, filepath.Base(from), dest)
	} else {
		err = m.move(m.stage, filepath.Base(from), dest, filepath.Base(to))
	}
	if err != nil {
		return fmt.Errorf("cannot move it to the destination: %w", err)
	}
	return nil
}

// mover moves files out of the stage, which only the engine can access.
type mover struct {
	stage dir
	owner *allocdir.Owner // of everything moved or created; nil: unchanged
}

// give changes the owner of everything below a path in the stage.
func (m mover) give(stage *os.Root, name string) error {
	if m.owner == nil {
		return nil
	}
	return fs.WalkDir(stage.FS(), name, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return stage.Lchown(path, m.owner.UID, m.owner.GID)
	})
}

// enterAll opens the directory at a path below d and creates missing ones. It
// closes d.
func (m mover) enterAll(d dir, path string) (dir, error) {
	for name := range strings.SplitSeq(path, "/") {
		if name == "." {
			continue
		}
		next, err := m.enter(d, name)
		_ = d.Close()
		if err != nil {
			return dir{}, err
		}
		d = next
	}
	return d, nil
}

func (m mover) enter(d dir, name string) (dir, error) {
	next, err := d.sub(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := m.makeDir(d, name); err != nil {
			return dir{}, err
		}
		next, err = d.sub(name)
	}
	if kind, _ := d.kind(name); err != nil && kind == unix.S_IFLNK {
		err = fmt.Errorf("%s is a link, and a destination must not lead through one", filepath.Join(d.Name(), name))
	} else if err != nil && kind != unix.S_IFDIR {
		err = fmt.Errorf("%s is a file", filepath.Join(d.Name(), name))
	}
	return next, err
}

// makeDir creates a directory in the stage, changes its owner there, and moves
// it to its place, so that no other file can be given away by mistake.
func (m mover) makeDir(d dir, name string) error {
	temp := "made-" + rand.Text()
	if err := m.makeIn(m.stage, temp); err != nil {
		return err
	}
	err := m.stage.rename(temp, d, name)
	if errors.Is(err, unix.EXDEV) {
		err = m.makeIn(d, name)
	}
	return err
}

func (m mover) makeIn(d dir, name string) error {
	if err := unix.Mkdirat(d.fd(), name, 0o755); err != nil {
		return d.fail("mkdir", name, err)
	}
	if m.owner == nil {
		return nil
	}
	made, err := d.sub(name)
	if err != nil {
		return err
	}
	defer func() { _ = made.Close() }()
	if _, err := made.Readdirnames(1); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s was replaced", made.Name()) // only an empty directory may change its owner
	}
	return made.Chown(m.owner.UID, m.owner.GID)
}

// move moves a file, replacing an existing one, or a directory, whose files it
// moves one by one if the directory exists already.
func (m mover) move(from dir, name string, to dir, toName string) error {
	kind, err := from.kind(name)
	if err != nil {
		return err
	}
	there, err := to.kind(toName)
	switch isDir := kind == unix.S_IFDIR; {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err == nil && !isDir && there == unix.S_IFDIR:
		return fmt.Errorf("%s is a directory", filepath.Join(to.Name(), toName))
	case err == nil && isDir && there != unix.S_IFDIR:
		return fmt.Errorf("%s is not a directory", filepath.Join(to.Name(), toName))
	case isDir && err != nil:
		return m.moveDir(from, name, to, toName)
	case isDir:
		sub, err := to.sub(toName)
		if err != nil {
			return err
		}
		defer func() { _ = sub.Close() }()
		return m.merge(from, name, sub)
	}
	if err := from.rename(name, to, toName); !errors.Is(err, unix.EXDEV) {
		return err
	}
	return from.copyTo(name, to, toName)
}

// moveDir moves a directory. The destination must not exist.
func (m mover) moveDir(from dir, name string, to dir, toName string) error {
	moving, err := from.sub(name)
	if err != nil {
		return err
	}
	defer func() { _ = moving.Close() }()
	info, err := moving.Stat()
	if err != nil {
		return err
	}
	mode := info.Mode().Perm()
	if mode&0o200 == 0 { // the kernel updates "..", which requires write permission
		if err := moving.Chmod(mode | 0o700); err != nil {
			return err
		}
	}
	if err = from.rename(name, to, toName); errors.Is(err, unix.EXDEV) {
		made, err := m.enter(to, toName)
		if err != nil {
			return err
		}
		defer func() { _ = made.Close() }()
		return errors.Join(m.merge(from, name, made), made.Chmod(mode))
	}
	if err == nil && mode&0o200 == 0 {
		err = moving.Chmod(mode)
	}
	return err
}

// merge moves the content of a directory into another one.
func (m mover) merge(from dir, name string, to dir) error {
	sub, err := from.sub(name)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Close() }()
	info, err := sub.Stat()
	if err == nil {
		err = sub.Chmod(info.Mode().Perm() | 0o700)
	}
	if err != nil {
		return err
	}
	names, err := sub.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := m.move(sub, name, to, name); err != nil {
			return err
		}
	}
	return nil
}
