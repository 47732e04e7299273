package view

import (
	"bufio"
	"io"

	"taskrun/cmd/ui"
)

// eraseLine erases the line in which the cursor is.
const eraseLine = "\r\x1b[K"

// screenBuffer is how much is collected before it is written, in bytes.
const screenBuffer = 256 << 10

// screen holds the two buffered streams of a view and keeps what is written to
// them in order, for when both lead to the same place. Errors of stdout are
// kept until flush; what cannot be written to stderr is lost.
type screen struct {
	bufOut, bufErr *bufio.Writer
	live           string // the line below everything, which has no end
}

func newScreen(s *ui.Streams) *screen {
	return &screen{bufOut: bufio.NewWriterSize(s.Out, screenBuffer), bufErr: bufio.NewWriterSize(s.Err, 4<<10)}
}

// out is where the tasks' output goes.
func (s *screen) out() *bufio.Writer {
	s.clear()
	if s.bufErr.Buffered() > 0 {
		s.flushErr()
	}
	return s.bufOut
}

// err is where taskrun's own lines go.
func (s *screen) err() *bufio.Writer {
	s.clear()
	if s.bufOut.Buffered() > 0 {
		_ = s.bufOut.Flush() // the error stays and is seen by flush
	}
	return s.bufErr
}

// below shows a line below everything on a terminal, until the next one or
// until something else is written.
func (s *screen) below(line string) {
	if line != s.live {
		s.err().WriteString(line)
		s.live = line
	}
}

// clear removes the line below everything.
func (s *screen) clear() {
	if s.live != "" {
		s.bufErr.WriteString(eraseLine)
		s.live = ""
	}
}

// flush writes everything and returns the first error of stdout.
func (s *screen) flush() error {
	s.flushErr()
	return s.bufOut.Flush()
}

func (s *screen) flushErr() {
	if s.bufErr.Flush() != nil {
		s.bufErr.Reset(io.Discard)
	}
}

// discardOut drops all further output.
func (s *screen) discardOut() { s.bufOut.Reset(io.Discard) }
