package tasklog

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// files are the numbered files of one stream. The highest is the one written;
// it is opened when there is something to write. Numbers grow and are never
// used again.
type files struct {
	dir      dir
	prefix   string // <task>.<stream>
	maxFiles int
	limit    int64

	isNew   bool     // this is the first Log of the stream: there is the first file and no other
	removed removed  // the files that were removed
	index   int      // of current
	current *logFile // nil before the first write
	size    int64
	midLine bool // current ends within a line
	marked  bool // current is marked as cut
	stamper stamper
}

// writing is how the file that is written is opened.
const writing = unix.O_RDWR | unix.O_APPEND

// makeFirst makes the first file when this stream never had one. That saves
// looking through the directory later, which for a group of a thousand tasks
// holds thousands of files. It is closed until there is something to write, when
// any error shows.
func (r *files) makeFirst() {
	if _, err := r.dir.lstat(markName(r.prefix)); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if f, _, err := r.dir.open(fileName(r.prefix, 0), writing|unix.O_CREAT|unix.O_EXCL); err == nil {
		r.isNew = true
		f.Close()
	}
}

// openHighest opens the highest file there is, or makes the first.
func (r *files) openHighest() error {
	index := 0
	if !r.isNew {
		var err error
		if index, err = r.findHighest(); err != nil {
			return err
		}
	}
	f, size, err := r.dir.open(fileName(r.prefix, index), writing|unix.O_CREAT)
	if errors.Is(err, errIrregular) {
		r.index = index - 1
		return r.rotate()
	}
	if err != nil {
		return err
	}
	r.use(f, index, size)
	return nil
}

// findHighest returns the number of the highest file that an earlier Log can have
// made; 0 if there is none.
func (r *files) findHighest() (int, error) {
	indexes, err := list(r.dir, r.prefix)
	if err != nil {
		return 0, err
	}
	if r.removed, err = readMark(r.dir, r.prefix); err != nil {
		return 0, err
	}
	for _, index := range slices.Backward(indexes) {
		if st, err := r.dir.lstat(fileName(r.prefix, index)); err == nil && isOwn(st, writing) {
			r.removed.below = min(max(r.removed.below, indexes[0]), index)
			return index, nil
		}
	}
	r.removed.below = 0
	return 0, nil
}

// put writes as much of p as belongs into one file. It returns that file,
// and where in it how many bytes are, even when it returns an error. The bytes
// were read from the task at a time.
func (r *files) put(p []byte, at time.Time) (src *logFile, offset int64, n int, err error) {
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
	r.stamp(at)
	n, err = r.current.file.Write(p[:n])
	if n == 0 {
		return r.current, 0, 0, err
	}
	r.midLine = p[n-1] != '\n'
	// Where the bytes are only the kernel knows: a user may have truncated
	// the file to make room.
	end, seekErr := r.current.file.Seek(0, io.SeekCurrent)
	if seekErr != nil {
		end = r.size + int64(n)
	}
	r.size = end
	return r.current, end - int64(n), n, err
}

// stamp records when the output that is written next was read. It writes before the
// output, so that a reader of the output finds the stamp. It ignores errors: readers
// then use the time of an earlier stamp, or that of the file.
func (r *files) stamp(at time.Time) {
	s := &r.stamper
	if s.dir == "" || at.Sub(s.last.at) < s.step {
		return
	}
	info, err := r.current.file.Stat()
	if err != nil {
		return
	}
	next := stamp{info.Size(), at} // a user may have truncated the file
	count, err := s.append(fileName(r.prefix, r.index), next)
	if err != nil {
		count = 0 // try again after a step
	}
	s.last, s.step = next, stampStep<<(min(count, maxStamps)/slowStamps)
}

// maxObstacles is how many directories in the places of files are passed over.
const maxObstacles = 1000

// rotate goes on to the next file. What a task has put in its place is removed
// or, if it is a directory that is not empty, passed over.
func (r *files) rotate() error {
	for next := r.index + 1; ; next++ {
		f, err := r.dir.create(fileName(r.prefix, next), writing)
		if err == nil {
			r.use(f, next, 0)
			r.removed.last = next
			_ = r.removed.write(r.dir, r.prefix) // on a full disk the next one will do
			r.purge()
			return nil
		}
		if st, statErr := r.dir.lstat(fileName(r.prefix, next)); statErr != nil || isOwn(st, writing) || next == r.index+maxObstacles {
			return err
		}
	}
}

func (r *files) use(f *os.File, index int, size int64) {
	if r.current != nil {
		r.current.Release()
	}
	r.current = &logFile{file: f}
	r.current.Retain()
	r.index, r.size, r.midLine, r.marked = index, size, false, isCut(f)
	r.stamper.last, r.stamper.step = stamp{}, 0
	if size > 0 {
		var last [1]byte
		_, err := f.ReadAt(last[:], size-1)
		r.midLine = err == nil && last[0] != '\n'
	}
}

// purge removes the oldest files. A file that is retained can be read on.
// The mark comes first, for the next Log and for readers that are late.
func (r *files) purge() {
	below := r.index - r.maxFiles + 1
	if below-r.removed.below > r.maxFiles {
		r.purgeListed(below)
		return
	}
	for r.removed.below < below {
		r.removeOldest(r.removed.below)
	}
}

// purgeListed removes the files below a number that are far apart, since a task
// has made some of them.
func (r *files) purgeListed(below int) {
	indexes, err := list(r.dir, r.prefix)
	if err != nil {
		return // the next time will do
	}
	for _, index := range indexes {
		if index >= r.removed.below && index < below {
			r.removeOldest(index)
		}
	}
	r.removed.below = max(r.removed.below, below)
}

func (r *files) removeOldest(index int) {
	name := fileName(r.prefix, index)
	r.removed.below = index + 1
	if st, err := r.dir.lstat(name); err == nil && isOwn(st, unix.O_RDONLY) { // else it has been removed already
		r.removed.bytes += st.Size
	}
	_ = r.removed.write(r.dir, r.prefix) // on a full disk the next one will do
	_ = r.dir.clear(name)
	r.stamper.remove(name)
}

func (r *files) close() {
	if r.current != nil {
		r.current.Release()
	}
}

// cutMark is the bit in the mode of a file that ends within a line whose rest was
// lost. It means nothing for files otherwise. The next writer ends the line first.
// A full disk has room for no other mark, and the engine may be killed before
// there is room again.
const cutMark = fs.ModeSticky

func isCut(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&cutMark != 0
}

// logFile is a file of output that is closed when it is no longer retained. It is
// an event.Source.
type logFile struct {
	file *os.File
	refs atomic.Int32
}

func (f *logFile) ReadAt(p []byte, off int64) (int, error) { return f.file.ReadAt(p, off) }

// Retain keeps the file open until it is released as often.
func (f *logFile) Retain() { f.refs.Add(1) }

// Release gives the file up.
func (f *logFile) Release() {
	if f.refs.Add(-1) == 0 {
		f.file.Close()
	}
}

// markCut marks the file, or takes the mark away. An error is ignored: without
// the mark the next engine only joins two lines.
func (r *files) markCut(cut bool) {
	if r.current == nil || r.marked == cut {
		return
	}
	r.marked = cut
	if info, err := r.current.file.Stat(); err == nil {
		mode := info.Mode().Perm()
		if cut {
			mode |= cutMark
		}
		_ = r.current.file.Chmod(mode)
	}
}

// endCutLine ends on disk the line whose rest was lost: what comes now does not
// belong to it. That is not announced, for the rest was.
func (r *files) endCutLine(at time.Time) {
	if r.current == nil && r.openHighest() != nil || !r.marked {
		return
	}
	if r.midLine {
		if _, _, _, err := r.put([]byte{'\n'}, at); err != nil {
			return // what comes next will tell
		}
	}
	r.markCut(false)
}
