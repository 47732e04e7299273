package tasklog

import (
	"os"
	"sync/atomic"
)

// file is a log file that is closed when nobody retains it any more. It is an
// event.Source.
type file struct {
	file *os.File
	refs atomic.Int32
}

func (f *file) ReadAt(p []byte, off int64) (int, error) { return f.file.ReadAt(p, off) }

func newFile(f *os.File) *file {
	src := &file{file: f}
	src.refs.Store(1) // the caller's
	return src
}

// Retain keeps the file open until it is released as often.
func (f *file) Retain() { f.refs.Add(1) }

// Release gives the file up.
func (f *file) Release() {
	if f.refs.Add(-1) == 0 {
		f.file.Close()
	}
}
