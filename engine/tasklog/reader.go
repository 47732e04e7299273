package tasklog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"taskrun/engine/event"
)

// Reader reads a stream's files one after the other, as one. At the end of
// what there is Read returns io.EOF, and again bytes when more was written:
// whoever follows a task reads on with every piece that is announced.
//
// It holds the file that it reads. Files that are rotated away before it
// reaches them are passed over, and Skipped counts them.
type Reader struct {
	root    *os.Root
	prefix  string
	file    *os.File // nil until there is one
	index   int      // of file
	skipped int
}

// OpenReader opens a stream at an offset in bytes: from the beginning of its
// oldest file with io.SeekStart, back from the end with io.SeekEnd. An offset
// beyond either end is that end. There need not be any files yet.
func OpenReader(dir, task string, stream event.Stream, offset int64, whence int) (*Reader, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s of task %q: %w", stream, task, err)
	}
	r := &Reader{root: root, prefix: task + "." + stream.String()}
	if err := r.seek(offset, whence); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot read %s of task %q: %w", stream, task, err), r.Close())
	}
	return r, nil
}

func (r *Reader) seek(offset int64, whence int) error {
	indexes, err := list(r.root, r.prefix)
	if err != nil || len(indexes) == 0 {
		return err
	}
	sizes := make([]int64, len(indexes))
	var total int64
	for i, index := range indexes {
		if info, err := r.root.Stat(fileName(r.prefix, index)); err == nil {
			sizes[i] = info.Size()
			total += sizes[i]
		}
	}
	if whence == io.SeekEnd {
		offset = total - offset
	}
	offset = min(max(offset, 0), total)
	i := 0
	for ; i < len(indexes)-1 && offset >= sizes[i]; i++ {
		offset -= sizes[i]
	}
	f, err := r.root.Open(fileName(r.prefix, indexes[i]))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // rotated away meanwhile: Read begins with the oldest there is
	}
	if err != nil {
		return err
	}
	r.file, r.index = f, indexes[i]
	_, err = f.Seek(offset, io.SeekStart)
	return err
}

// Skipped is how many files were rotated away before they were read.
func (r *Reader) Skipped() int { return r.skipped }

// Close ends the reading.
func (r *Reader) Close() error {
	var err error
	if r.file != nil {
		err = r.file.Close()
	}
	return errors.Join(err, r.root.Close())
}

// Read reads from one file at a time.
func (r *Reader) Read(p []byte) (int, error) {
	for {
		n, err := r.readFile(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		next, index, err := r.openNext()
		if err != nil {
			return 0, err
		}
		// What was written between the read above and the rotation comes first.
		if n, err := r.readFile(p); n > 0 || !errors.Is(err, io.EOF) {
			_ = next.Close()
			return n, err
		}
		if r.file != nil {
			_ = r.file.Close()
			r.skipped += index - r.index - 1
		}
		r.file, r.index = next, index
	}
}

func (r *Reader) readFile(p []byte) (int, error) {
	if r.file == nil {
		return 0, io.EOF
	}
	return r.file.Read(p)
}

// openNext opens the file behind the current one, and returns io.EOF when
// there is none.
func (r *Reader) openNext() (*os.File, int, error) {
	if r.file != nil {
		f, err := r.root.Open(fileName(r.prefix, r.index+1))
		if !errors.Is(err, fs.ErrNotExist) {
			return f, r.index + 1, err
		}
		// Only when the current file is gone can the one behind it be gone,
		// too. For that alone the directory is read, which may be large.
		if _, err := r.root.Lstat(fileName(r.prefix, r.index)); err == nil {
			return nil, 0, io.EOF
		}
	}
	indexes, err := list(r.root, r.prefix)
	if err != nil {
		return nil, 0, err
	}
	for _, index := range indexes {
		if r.file != nil && index <= r.index {
			continue
		}
		f, err := r.root.Open(fileName(r.prefix, index))
		if !errors.Is(err, fs.ErrNotExist) {
			return f, index, err
		}
	}
	return nil, 0, io.EOF
}
