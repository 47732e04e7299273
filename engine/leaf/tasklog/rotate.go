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

// files are the numbered files of one stream. Output is appended to the highest
// one, which is opened by the first write. A number is never used twice.
type files struct {
	dir      dir
	prefix   string // <task>.<stream>
	maxFiles int
	limit    int64

	isNew   bool     // this is the first Log of the stream, which has only the first file
	removed removed  // the files that were removed
	index   int      // of current
	current *logFile // nil before the first write
	size    int64
	midLine bool // current ends within a line
	marked  bool // current is marked as cut
	stamper stamper
}

// writing are the flags with which the current file is opened.
const writing = unix.O_RDWR | unix.O_APPEND

// makeFirst makes the first file if this stream never had one. The first write then
// need not search the directory, which may have files of a thousand tasks. It
// ignores errors, because the first write opens the file again and returns them.
func (r *files) makeFirst() {
	if _, err := r.dir.lstat(markName(r.prefix)); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if f, _, err := r.dir.open(fileName(r.prefix, 0), writing|unix.O_CREAT|unix.O_EXCL); err == nil {
		r.isNew = true
		f.Close()
	}
}

// openHighest opens the highest file, or makes the first one.
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

// findHighest returns the number of the highest file that an earlier Log may have
// made, or 0 if there is none.
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

// put writes as much of p as fits in one file. It returns the file, the offset, and
// the number of bytes written, even with an error. at is the time when the bytes
// were read from the task.
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
	// Ask the kernel where the bytes are: a user may have truncated the file to make
	// room.
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

// maxObstacles is how many directories with names of files are skipped.
const maxObstacles = 1000

// rotate begins the next file. It removes what a task has put in its place, and
// skips the number if that is a directory that is not empty.
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

// purge removes the oldest files. Retained files stay readable. The mark is written
// first, for the next Log and for late readers.
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

// purgeListed removes the files below a number. It lists them first, because a task
// has made some with numbers far apart.
func (r *files) purgeListed(below int) {
	indexes, err := list(r.dir, r.prefix)
	if err != nil {
		return // the next rotation repeats it
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
	if st, err := r.dir.lstat(name); err == nil && isOwn(st, unix.O_RDONLY) { // otherwise it was removed already
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

// cutMark is a bit in the mode of a file that ends within a line whose rest was
// lost. The next writer ends the line first. The bit has no other meaning for
// files. A full disk has no room for another kind of mark, and the engine may be
// killed before there is room again.
const cutMark = fs.ModeSticky

func isCut(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&cutMark != 0
}

// logFile is a file of output. It is closed once it is no longer retained. It is an
// event.Source.
type logFile struct {
	file *os.File
	refs atomic.Int32
}

func (f *logFile) ReadAt(p []byte, off int64) (int, error) { return f.file.ReadAt(p, off) }

// Retain keeps the file open until it is released as often.
func (f *logFile) Retain() { f.refs.Add(1) }

// Release undoes one Retain. The last one closes the file.
func (f *logFile) Release() {
	if f.refs.Add(-1) == 0 {
		f.file.Close()
	}
}

// markCut sets or clears the mark of the file. It ignores errors: without the mark,
// the next engine joins two lines, which is all.
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

// endCutLine ends the line whose rest was lost, so that new output does not
// continue it. It does that on disk only, because the rest of the line was
// announced.
func (r *files) endCutLine(at time.Time) {
	if r.current == nil && r.openHighest() != nil || !r.marked {
		return
	}
	if r.midLine {
		if _, _, _, err := r.put([]byte{'\n'}, at); err != nil {
			return // the next write reports it
		}
	}
	r.markCut(false)
}
