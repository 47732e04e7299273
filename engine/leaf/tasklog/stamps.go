package tasklog

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A stamp records when the output that starts at an offset in a file was read from
// the task. The stamps of a file are in a file with the same name, in a directory
// that only the engine can enter. It is closed between two stamps, so that a silent
// task costs no file descriptor.
type stamp struct {
	offset int64
	at     time.Time
}

const (
	stampSize = 16 // bytes: the offset and Unix nanoseconds, little-endian
	// stampStep is the minimum time between two stamps. It doubles after every
	// slowStamps stamps of a file. A file gets at most maxStamps.
	stampStep  = 10 * time.Millisecond
	slowStamps = 32 << 10
	maxStamps  = 30 * slowStamps
)

// stamper writes the stamps of a stream's files.
type stamper struct {
	dir  string // empty: no stamps are kept
	last stamp  // the zero value before the first one of a file
	step time.Duration
}

// append appends a stamp and returns how many were there before.
func (s *stamper) append(name string, next stamp) (count int64, err error) {
	f, size, err := s.open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	count = size / stampSize
	if next.offset == 0 || next.offset < s.last.offset {
		count = 0 // the old ones belong to other output
	}
	if size != count*stampSize { // the last one may be incomplete
		if err := f.Truncate(count * stampSize); err != nil {
			return count, err
		}
	}
	if count < maxStamps {
		_, err = f.Write(next.bytes())
	}
	return count, err
}

func (s *stamper) open(name string) (f *os.File, size int64, err error) {
	d, err := openStamps(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.Mkdir(s.dir, 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			d, err = openStamps(s.dir)
		}
	}
	if err != nil {
		return nil, 0, err
	}
	defer d.close()
	const flags = unix.O_WRONLY | unix.O_APPEND
	if f, size, err = d.open(name, flags|unix.O_CREAT); errors.Is(err, errIrregular) {
		f, err = d.create(name, flags)
	}
	return f, size, err
}

// remove removes the stamps of a file.
func (s *stamper) remove(name string) {
	if s.dir == "" {
		return
	}
	if d, err := openStamps(s.dir); err == nil {
		_ = d.clear(name) // otherwise it is removed with the allocation
		_ = d.close()
	}
}

func openStamps(path string) (dir, error) {
	f, err := os.OpenFile(path, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	return dir{f}, err
}

func (s stamp) bytes() []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(s.offset))
	return binary.LittleEndian.AppendUint64(b, uint64(s.at.UnixNano()))
}

// stamps reads the stamps of one file, even while it grows.
type stamps struct {
	dir, name string
	file      *os.File // nil: it does not exist yet
	at        int64    // offset of the next read
	page, buf []byte
	now, next stamp // the last one at or before the offset of find, and the one after it
	known     bool  // next is valid
}

// find returns the time of the output at an offset, or the zero time if it is
// unknown, and the offset at which output of another time begins.
func (s *stamps) find(offset int64) (at time.Time, until int64) {
	for s.peek() && s.next.offset <= offset {
		s.now, s.known = s.next, false
	}
	if !s.known {
		return s.now.at, math.MaxInt64
	}
	return s.now.at, s.next.offset
}

// peek reads the next stamp, unless it was read already, and reports whether there is
// one.
func (s *stamps) peek() bool {
	if s.known {
		return true
	}
	if len(s.buf) == 0 && !s.fill() {
		return false
	}
	s.next = stamp{
		int64(binary.LittleEndian.Uint64(s.buf)),
		time.Unix(0, int64(binary.LittleEndian.Uint64(s.buf[stampSize/2:]))),
	}
	s.buf, s.known = s.buf[stampSize:], true
	return true
}

func (s *stamps) fill() bool {
	s.open()
	if s.file == nil || s.at >= maxStamps*stampSize { // the engine writes no more
		return false
	}
	n, _ := s.file.ReadAt(s.page, s.at)
	n -= n % stampSize // the last one may be complete later
	s.buf = s.page[:n]
	s.at += int64(n)
	return n > 0
}

// open opens the file if it is there.
func (s *stamps) open() {
	if s.file != nil {
		return
	}
	d, err := openStamps(s.dir)
	if err != nil {
		return
	}
	defer d.close()
	if s.file, _, err = d.open(s.name, os.O_RDONLY); err == nil {
		s.page = make([]byte, 256*stampSize)
	}
}

// rewind makes find begin with the first stamp.
func (s *stamps) rewind() { s.at, s.buf, s.now, s.known = 0, nil, stamp{}, false }

func (s *stamps) close() {
	if s != nil && s.file != nil {
		_ = s.file.Close() // it was only read
	}
}
