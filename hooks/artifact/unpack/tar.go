package unpack

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

func (w *writer) tar(text io.Reader) error {
	r := tar.NewReader(text)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return w.end()
		}
		if err != nil {
			return err
		}
		if err := w.tarEntry(h, r); err != nil {
			return err
		}
	}
}

func (w *writer) tarEntry(h *tar.Header, text io.Reader) error {
	name, err := w.begin(h.Name)
	if err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		return nil
	case tar.TypeDir:
		return w.addDir(name, h.FileInfo().Mode())
	case tar.TypeLink:
		return w.hardlink(name, h.Linkname)
	case tar.TypeSymlink:
		return w.addFile(name, fs.ModeSymlink, strings.NewReader(h.Linkname))
	case tar.TypeReg, tar.TypeGNUSparse:
		if h.Size > w.left { // before writing anything
			return w.tooLarge()
		}
		return w.addFile(name, h.FileInfo().Mode().Perm(), text)
	}
	return w.special(name)
}

// hardlink gives another name to a file of an earlier entry.
func (w *writer) hardlink(name, target string) error {
	old := strings.TrimPrefix(path.Clean("/"+target), "/")
	if w.single != "" {
		return errNotSingle
	}
	info, err := w.root.Lstat(old)
	if err != nil || !info.Mode().IsRegular() || name == "" || name == old || len(target) > maxName {
		return fmt.Errorf("hard link %q leads to no other file of the archive", name)
	}
	if err := w.place(name); err != nil {
		return err
	}
	return w.root.Link(old, name)
}
