package unpack

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"strings"
)

// perEntry limits the average size of an entry's description in a zip archive,
// in bytes.
const perEntry = maxName + 1024

func (w *writer) zip(packed *os.File) error {
	info, err := packed.Stat()
	if err != nil {
		return err
	}
	list := &budget{ReaderAt: packed, left: 1<<20 + int64(w.limits.Entries)*perEntry}
	r, err := zip.NewReader(list, info.Size())
	if list.spent {
		return w.tooMany()
	}
	if err != nil {
		return err
	}
	list.unlimited = true // from now on, only one file is read at a time
	if len(r.File) > w.limits.Entries {
		return w.tooMany()
	}
	for _, f := range r.File {
		if err := w.zipEntry(f); err != nil {
			return err
		}
	}
	return w.end()
}

func (w *writer) zipEntry(f *zip.File) error {
	name, err := w.begin(f.Name)
	if err != nil {
		return err
	}
	if mode := f.Mode(); mode.IsDir() || strings.HasSuffix(f.Name, "/") {
		return w.addDir(name, 0o755)
	}
	if f.UncompressedSize64 > uint64(w.left) { // before writing anything
		return w.tooLarge()
	}
	text, err := f.Open()
	if err != nil {
		return err
	}
	return errors.Join(w.addFile(name, f.Mode(), text), text.Close())
}

// A budget limits the size of the list of entries of a zip archive, which is
// held in memory.
type budget struct {
	io.ReaderAt
	left             int64
	spent, unlimited bool
}

func (b *budget) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 && !b.unlimited {
		b.spent = true
		return 0, io.ErrUnexpectedEOF
	}
	return b.ReaderAt.ReadAt(p, at)
}
