package tasklog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// files are the numbered files of one stream. The highest is the one written;
// it is opened when there is something to write. Numbers grow and are never
// used again.
type files struct {
	root     *os.Root
	prefix   string // <task>.<stream>
	maxFiles int
	limit    int64

	removed removed // the files that were removed
	index   int     // of current
	current *file   // nil before the first write
	size    int64
	midLine bool // current ends within a line
}

// openHighest opens the highest file there is, or makes the first.
func (r *files) openHighest() error {
	if r.openFirst() == nil {
		return nil
	}
	indexes, err := list(r.root, r.prefix)
	if err != nil {
		return err
	}
	if r.removed, err = readMark(r.root, r.prefix); err != nil {
		return err
	}
	index := 0
	if len(indexes) > 0 {
		index = indexes[len(indexes)-1]
		r.removed.below = max(r.removed.below, indexes[0])
	}
	f, size, err := r.open(index, os.O_CREATE)
	if err != nil {
		return err
	}
	r.use(f, index, size)
	return nil
}

// openFirst makes the first file when this stream never had one. That saves
// looking through the directory, which for a group of a thousand tasks holds
// thousands of files.
func (r *files) openFirst() error {
	if _, err := r.root.Lstat(markName(r.prefix)); !errors.Is(err, fs.ErrNotExist) {
		return fs.ErrExist
	}
	f, _, err := r.open(0, os.O_CREATE|os.O_EXCL)
	if err == nil {
		r.use(f, 0, 0)
	}
	return err
}

// put writes as much of p as belongs into one file. It returns that file,
// and where in it how many bytes are, even when it returns an error.
func (r *files) put(p []byte) (src *file, offset int64, n int, err error) {
	if r.current == nil {
		if err := r.openHighest(); err != nil {
			return nil, 0, 0, err
		}
	}
	if n = fit(p, r.size, r.limit, r.midLine); n == 0 {
		if err := r.rotate(); err != nil {
			return nil, 0, 0, err
		}
		n = fit(p, r.size, r.limit, r.midLine)
	}
	n, err = r.current.file.Write(p[:n])
	if n == 0 {
		return r.current, 0, 0, err
	}
	r.midLine = p[n-1] != '\n'
	// Where the bytes are only the kernel knows: somebody may have truncated
	// the file to make room.
	end, seekErr := r.current.file.Seek(0, io.SeekCurrent)
	if seekErr != nil {
		end = r.size + int64(n)
	}
	r.size = end
	return r.current, end - int64(n), n, err
}

// rotate goes on to the next file that is not full.
func (r *files) rotate() error {
	for next := r.index + 1; ; next++ {
		f, size, err := r.open(next, os.O_CREATE)
		if err != nil {
			return err
		}
		if size >= r.limit {
			f.Close()
			continue
		}
		r.use(f, next, size)
		r.purge()
		return nil
	}
}

func (r *files) use(f *os.File, index int, size int64) {
	if r.current != nil {
		r.current.Release()
	}
	r.current = newFile(f)
	r.index, r.size, r.midLine = index, size, false
	if size > 0 {
		var last [1]byte
		_, err := f.ReadAt(last[:], size-1)
		r.midLine = err == nil && last[0] != '\n'
	}
}

func (r *files) open(index, flags int) (*os.File, int64, error) {
	f, err := r.root.OpenFile(fileName(r.prefix, index), os.O_RDWR|os.O_APPEND|flags, 0o644)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%q is no regular file", f.Name())
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// purge removes the oldest files. A file that somebody retains can be read on.
// The mark comes first, for openFirst and for readers that are late.
func (r *files) purge() {
	for r.removed.below <= r.index-r.maxFiles {
		name := fileName(r.prefix, r.removed.below)
		r.removed.below++
		if info, err := r.root.Lstat(name); err == nil { // else somebody has removed it already
			r.removed.bytes += info.Size()
		}
		_ = r.removed.write(r.root, r.prefix) // on a full disk the next one will do
		_ = r.root.Remove(name)
	}
}

func (r *files) close() {
	if r.current != nil {
		r.current.Release()
	}
}
