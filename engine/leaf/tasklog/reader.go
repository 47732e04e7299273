package tasklog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"taskrun/engine/leaf/event"
)

// Reader reads the files of a stream as if they were one. At the end Read returns
// io.EOF, and bytes again after more was written: a follower calls Read for each
// announced piece.
//
// A Reader holds the file that it reads, and those that Hold has opened. It skips
// output that is rotated away before that; Skipped counts it.
type Reader struct {
	dir     dir
	prefix  string
	file    *os.File // nil until there is one
	index   int      // of file
	offset  int64    // of the next read, in file
	at      int64    // the same, from the beginning of the stream
	skipped int64

	times  string  // the directory with times; empty: they are not read
	stamps *stamps // of file
	time   time.Time

	mu        sync.Mutex
	held      []heldFile // the files after it, in order
	heldBytes int64      // of all held files but the last, which may grow
	last      int        // the number of the last one, or of file; -1 before the first
}

// heldFile is a file that is read later.
type heldFile struct {
	file   *os.File
	index  int
	start  int64 // its offset in the stream; -1: it follows the file before it
	stamps *stamps
}

// How much a reader holds at most that rotation would remove.
const (
	maxHeldBytes = 1 << 30
	maxHeldFiles = 256
)

// OpenReader opens a stream at an offset in bytes: from the beginning of its oldest
// file with io.SeekStart, back from the end with io.SeekEnd. An offset beyond
// either end means that end. The files need not exist yet.
func OpenReader(path, task string, stream event.Stream, offset int64, whence int) (*Reader, error) {
	d, err := openDir(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s of task %q: %w", stream, task, err)
	}
	r := &Reader{dir: d, prefix: task + "." + stream.String(), last: -1}
	if err := r.seek(offset, whence); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot read %s of task %q: %w", stream, task, err), r.Close())
	}
	return r, nil
}

// seekStream counts an offset from the beginning of the stream, of which files may
// be gone.
const seekStream = -1

func (r *Reader) seek(offset int64, whence int) error {
	gone, files, err := r.list()
	r.at = gone.bytes
	if err != nil || len(files) == 0 {
		return err
	}
	var total int64
	for _, f := range files {
		total += f.size
	}
	switch whence {
	case io.SeekEnd:
		offset = total - offset
	case seekStream:
		offset -= gone.bytes
	}
	offset = min(max(offset, 0), total)
	r.at += offset
	i := 0
	for ; i < len(files)-1 && offset > 0 && offset >= files[i].size; i++ {
		offset -= files[i].size
	}
	f, _, err := r.dir.open(fileName(r.prefix, files[i].index), os.O_RDONLY)
	if isGone(err) {
		return nil // rotated away meanwhile: Read begins with the oldest file
	}
	if err != nil {
		return err
	}
	r.file, r.index, r.last, r.offset = f, files[i].index, files[i].index, offset
	return nil
}

// isGone reports whether an error says that a file is gone, or that a task has
// replaced it with something else.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errIrregular) }

// listedFile is a file that can be read.
type listedFile struct {
	index int
	size  int64
}

// maxLooks is how often a directory that changes is listed again: a task may change
// it forever.
const maxLooks = 100

// list returns what was removed of the stream, and the files that are left.
func (r *Reader) list() (gone removed, files []listedFile, err error) {
	if gone, err = readMark(r.dir, r.prefix); err != nil {
		return gone, nil, err
	}
	var indexes []int
	for range maxLooks {
		if indexes, err = r.indexes(gone); err != nil {
			return gone, nil, err
		}
		before := gone
		if gone, err = readMark(r.dir, r.prefix); err != nil {
			return gone, nil, err
		}
		if gone == before {
			break // else they may not belong together
		}
	}
	for _, index := range indexes {
		if index < gone.below {
			continue
		}
		if st, err := r.dir.lstat(fileName(r.prefix, index)); err == nil && isOwn(st, os.O_RDONLY) {
			files = append(files, listedFile{index, st.Size})
		}
	}
	return gone, files, nil
}

// indexes returns the numbers of the files that are left. It reads the directory,
// where many tasks may have files, only if a file is missing in the sequence.
func (r *Reader) indexes(gone removed) (row []int, err error) {
	for i := gone.below; ; i++ {
		if _, err := r.dir.lstat(fileName(r.prefix, i)); err != nil {
			break
		}
		row = append(row, i)
	}
	if n := len(row); n > 0 && row[n-1] >= gone.last {
		return row, nil
	}
	return list(r.dir, r.prefix)
}

// Skipped returns how many bytes were rotated away before they were read.
func (r *Reader) Skipped() int64 { return r.skipped }

// Hold opens the files that Read has not reached yet, up to 1 GiB. A slow reader
// calls it for each announced piece. It may run at the same time as Read, which
// returns its errors later.
func (r *Reader) Hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.heldBytes < maxHeldBytes && len(r.held) < maxHeldFiles && r.holdNext() == nil {
	}
}

// Close closes all files. No method may be called after it.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	if r.file != nil {
		err = r.file.Close()
	}
	r.stamps.close()
	for _, h := range r.held {
		err = errors.Join(err, h.file.Close())
		h.stamps.close()
	}
	return errors.Join(err, r.dir.close())
}

// Read implements io.Reader. One call reads from one file only.
func (r *Reader) Read(p []byte) (int, error) {
	for {
		n, err := r.readFile(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		if err := r.findNext(); err != nil {
			return 0, err
		}
		// First read what was written between the read above and the rotation.
		if n, err := r.readFile(p); n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		r.goOn()
	}
}

func (r *Reader) readFile(p []byte) (int, error) {
	if r.file == nil {
		return 0, io.EOF
	}
	if r.stamps != nil {
		_, until := r.stamps.find(r.offset)
		p = p[:min(int64(len(p)), until-r.offset)]
	}
	n, err := r.file.ReadAt(p, r.offset)
	if n == 0 {
		return 0, err
	}
	if r.stamps != nil { // again: its stamp exists by now
		var until int64
		r.time, until = r.stamps.find(r.offset)
		n = int(min(int64(n), until-r.offset))
		if r.time.IsZero() {
			if info, err := r.file.Stat(); err == nil {
				r.time = info.ModTime()
			}
		}
	}
	r.move(n)
	return n, nil
}

// move moves by n bytes in the file, forward or back.
func (r *Reader) move(n int) {
	r.offset += int64(n)
	r.at += int64(n)
}

// findNext makes sure that the file after the current one is held, and returns
// io.EOF if there is none.
func (r *Reader) findNext() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.held) > 0 {
		return nil
	}
	return r.holdNext()
}

// goOn makes the next held file the current one.
func (r *Reader) goOn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		_ = r.file.Close()
		r.stamps.close()
	}
	next := r.held[0]
	r.held[0] = heldFile{}
	r.held = r.held[1:]
	if len(r.held) > 0 {
		r.heldBytes -= sizeOf(next.file)
	}
	r.file, r.index, r.offset, r.stamps = next.file, next.index, 0, next.stamps
	if next.start > r.at {
		r.skipped += next.start - r.at
		r.at = next.start
	}
}

// holdNext opens the file after the last held one, and returns io.EOF if there is
// none. The caller must hold the lock.
func (r *Reader) holdNext() error {
	next, err := r.openNext()
	if err != nil {
		return err
	}
	if next.stamps = r.stampsOf(next.index); next.stamps != nil {
		next.stamps.open() // before rotation removes them
	}
	if n := len(r.held); n > 0 {
		r.heldBytes += sizeOf(r.held[n-1].file)
	}
	r.held = append(r.held, next)
	r.last = next.index
	return nil
}

// sizeOf returns the size of a file that no longer grows.
func sizeOf(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// openNext opens the file after the last one.
func (r *Reader) openNext() (heldFile, error) {
	if r.last >= 0 {
		f, _, err := r.dir.open(fileName(r.prefix, r.last+1), os.O_RDONLY)
		if !isGone(err) {
			return heldFile{file: f, index: r.last + 1, start: -1}, err
		}
		// There is no next file yet, or it is gone, too, or something else is in its
		// place. Only in the last two cases is the directory read, which may be
		// large.
		if _, lastErr := r.dir.lstat(fileName(r.prefix, r.last)); lastErr == nil && errors.Is(err, fs.ErrNotExist) {
			mark, err := readMark(r.dir, r.prefix)
			if err != nil {
				return heldFile{}, err
			}
			if mark.last <= r.last {
				return heldFile{}, io.EOF
			}
		}
	}
	return r.openOldest()
}

// openOldest opens the oldest file that is left after the last one.
func (r *Reader) openOldest() (heldFile, error) {
	for range maxLooks {
		gone, files, err := r.list()
		if err != nil {
			return heldFile{}, err
		}
		i, _ := slices.BinarySearchFunc(files, r.last+1, func(f listedFile, index int) int { return cmp.Compare(f.index, index) })
		if i == len(files) {
			return heldFile{}, io.EOF
		}
		index := files[i].index
		f, _, err := r.dir.open(fileName(r.prefix, index), os.O_RDONLY)
		if isGone(err) {
			continue // rotated away meanwhile
		}
		if err != nil {
			return heldFile{}, err
		}
		if index == r.last+1 && r.last >= 0 {
			return heldFile{file: f, index: index, start: -1}, nil
		}
		return heldFile{file: f, index: index, start: gone.bytes}, nil
	}
	return heldFile{}, io.EOF
}

// Position returns the name of the current file, and the offset in bytes of the
// next read. The name is empty before the first file.
func (r *Reader) Position() (file string, offset int64) {
	if r.file == nil {
		return "", 0
	}
	return fileName(r.prefix, r.index), r.offset
}

func (r *Reader) stampsOf(index int) *stamps {
	if r.times == "" {
		return nil
	}
	return &stamps{dir: r.times, name: fileName(r.prefix, index)}
}
