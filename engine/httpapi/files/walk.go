package files

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxSteps limits the names and links in a path: a task may create any number.
const maxSteps = 1000

// walk follows a path below a directory by descriptors, one name or link at a
// time, so that no name can lead to a directory other than the one that was
// checked.
type walk struct {
	dir      string // allocation directory
	root, at *os.Root
	done     []string // names of the directories on the way to at
	left     []string
}

// walkTo returns the place at a path in an allocation directory. It never
// leaves the directory.
func walkTo(dir, name string) (*place, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fileError("stat", name, err)
	}
	w := walk{dir: dir, root: root, at: root, left: strings.Split(path.Clean(name), "/")}
	var found *place
	for steps := 0; found == nil && err == nil; steps++ {
		if found, err = w.step(); found == nil && err == nil && steps == maxSteps {
			err = fileError("stat", name, syscall.ELOOP)
		}
	}
	if err != nil {
		w.enter(root)
	}
	if w.at != root || err != nil {
		err = errors.Join(err, root.Close())
	}
	return found, err
}

// enter enters another directory.
func (w *walk) enter(dir *os.Root, done ...string) {
	if w.at != w.root {
		_ = w.at.Close() // nothing was written
	}
	w.at, w.done = dir, done
}

// step follows one name. It returns the place when no name is left.
func (w *walk) step() (*place, error) {
	next := "."
	if len(w.left) > 0 {
		next, w.left = cmp.Or(w.left[0], "."), w.left[1:]
	}
	if next == ".." {
		if len(w.done) == 0 {
			return nil, errEscapes
		}
		// From the beginning, because the directory may have been moved.
		w.left = slices.Concat(w.done[:len(w.done)-1], w.left)
		w.enter(w.root)
		return nil, nil
	}
	name := path.Join(path.Join(w.done...), next)
	info, err := w.at.Lstat(next)
	switch {
	case err != nil:
		return nil, fileError("stat", name, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, w.link(next, name)
	case len(w.left) == 0:
		return &place{w.at, next, name, info}, nil
	case next == ".":
		return nil, nil
	}
	below, err := openDir(w.at, next, info)
	if err != nil {
		return nil, fileError("stat", path.Join(name, path.Join(w.left...)), err)
	}
	w.enter(below, append(w.done, next)...)
	return nil, nil
}

// link follows a link.
func (w *walk) link(base, name string) error {
	target, err := w.at.Readlink(base)
	if err != nil {
		return fileError("readlink", name, err)
	}
	if filepath.IsAbs(target) {
		if target, err = within(w.dir, target); err != nil {
			return err
		}
		w.enter(w.root)
	}
	w.left = slices.Concat(strings.Split(target, "/"), w.left)
	return nil
}

// within returns the part of an absolute path below a directory.
func within(dir, target string) (string, error) {
	spellings := []string{dir}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		spellings = append(spellings, resolved)
	}
	for _, s := range spellings {
		if inside, err := filepath.Rel(s, target); err == nil && filepath.IsLocal(inside) {
			return inside, nil
		}
	}
	return "", errEscapes
}

// openDir opens a directory that was checked before.
func openDir(at *os.Root, name string, seen fs.FileInfo) (*os.Root, error) {
	if !seen.IsDir() {
		return nil, syscall.ENOTDIR
	}
	below, err := at.OpenRoot(name + "/.") // fails for anything but a directory, and does not block on a pipe
	if err != nil {
		return nil, err
	}
	if now, err := below.Lstat("."); err != nil || !os.SameFile(seen, now) {
		return nil, errors.Join(errReplaced, err, below.Close())
	}
	return below, nil
}
