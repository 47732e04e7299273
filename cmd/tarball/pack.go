// Package tarball copies files and directories into tar streams and out of them. A
// hostile stream cannot change anything outside of the directory into which it is
// unpacked.
package tarball

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"
)

// Sum counts the copied files.
type Sum struct {
	Files   int // regular ones
	Bytes   int64
	Skipped []string // neither files, directories nor symbolic links: the first maxSkipped
	More    int      // how much else was skipped
	Links   []string // symbolic links that the source cannot read, which are left out, too
}

// maxSkipped limits the memory that a hostile stream can use.
const maxSkipped = 20

func (s *Sum) skip(name string) {
	if len(s.Skipped) == maxSkipped {
		s.More++
		return
	}
	s.Skipped = append(s.Skipped, name)
}

// Source is where Pack finds files. The names are paths below its root. ReadDir and Open
// get what Lstat has returned for the name.
type Source interface {
	Lstat(name string) (fs.FileInfo, error)
	// Readlink returns the target of a symbolic link, or errors.ErrUnsupported.
	Readlink(name string) (string, error)
	// ReadDir returns the names in a directory, in any order.
	ReadDir(name string, seen fs.FileInfo) ([]string, error)
	Open(name string, seen fs.FileInfo) (io.ReadCloser, error)
}

// Pack writes a file or a directory, with all that is in it, to a stream. There it has
// another name. It follows no symbolic link, and copies links as they are.
func Pack(to *tar.Writer, from Source, file, name string) (Sum, error) {
	p := packer{to: to, from: from}
	err := p.add(file, name)
	switch {
	case err != nil:
	case len(p.sum.Links) > 0 && p.sum.Links[0] == file:
		err = fmt.Errorf("%s is a symbolic link, and its target is unknown", file)
	case len(p.sum.Skipped) > 0 && p.sum.Skipped[0] == file:
		err = fmt.Errorf("%s is no file, directory or symbolic link", file)
	}
	return p.sum, err
}

type packer struct {
	to   *tar.Writer
	from Source
	sum  Sum
}

func (p *packer) add(file, name string) error {
	info, err := p.from.Lstat(file)
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return p.addDir(file, name, info)
	case mode.IsRegular():
		return p.addFile(file, name, info)
	case mode&fs.ModeSymlink != 0:
		target, err := p.from.Readlink(file)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			p.sum.Links = append(p.sum.Links, file)
			return nil
		case err != nil:
			return err
		}
		return p.header(name, target, info)
	}
	p.sum.skip(file)
	return nil
}

// header begins an entry. It names no owner: the user who unpacks the file gets it.
func (p *packer) header(name, link string, info fs.FileInfo) error {
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name = name
	h.Uid, h.Gid, h.Uname, h.Gname = 0, 0, "", ""
	return p.to.WriteHeader(h)
}

func (p *packer) addDir(file, name string, info fs.FileInfo) error {
	if err := p.header(name+"/", "", info); err != nil {
		return err
	}
	names, err := p.from.ReadDir(file, info)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, n := range names {
		err := p.add(path.Join(file, n), path.Join(name, n))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *packer) addFile(file, name string, info fs.FileInfo) error {
	f, err := p.from.Open(file, info)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := p.header(name, "", info); err != nil {
		return err
	}
	switch n, err := io.CopyN(p.to, f, info.Size()); {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s has become shorter while it was copied", file)
	case err != nil:
		return err
	default:
		p.sum.Files, p.sum.Bytes = p.sum.Files+1, p.sum.Bytes+n
		return nil
	}
}

// Root is a directory of this machine as a source of files.
type Root struct{ *os.Root }

// ReadDir returns the names in a directory.
func (r Root) ReadDir(name string, seen fs.FileInfo) ([]string, error) {
	dir, err := r.open(name, seen)
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	return names, errors.Join(err, dir.Close())
}

// Open opens a file.
func (r Root) Open(name string, seen fs.FileInfo) (io.ReadCloser, error) { return r.open(name, seen) }

// open opens what was looked at before. A pipe in its place blocks nothing.
func (r Root) open(name string, seen fs.FileInfo) (*os.File, error) {
	f, err := r.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	now, err := f.Stat()
	if err == nil && !os.SameFile(now, seen) {
		err = fmt.Errorf("%s was replaced while it was copied", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
