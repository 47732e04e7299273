package view

import (
	"bufio"
	"io"

	"taskrun/cmd/ui"
)

// eraseLine erases the current line.
const eraseLine = "\r\x1b[K"

// screenBuffer is the size of the output buffer, in bytes.
const screenBuffer = 256 << 10

// screen has the two buffered streams of a view, and keeps the order of what is
// written to both, in case they lead to the same place. Errors of stdout are
// kept until flush; errors of stderr are ignored.
type screen struct {
	bufOut, bufErr *bufio.Writer
	live           string // the line below everything else, without a line end
}

func newScreen(s *ui.Streams) *screen {
	return &screen{bufOut: bufio.NewWriterSize(s.Out, screenBuffer), bufErr: bufio.NewWriterSize(s.Err, 4<<10)}
}

// out returns the stream for the tasks' output.
func (s *screen) out() *bufio.Writer {
	s.clear()
	if s.bufErr.Buffered() > 0 {
		s.flushErr()
	}
	return s.bufOut
}

// err returns the stream for taskrun's own lines.
func (s *screen) err() *bufio.Writer {
	s.clear()
	if s.bufOut.Buffered() > 0 {
		_ = s.bufOut.Flush() // flush reports the error
	}
	return s.bufErr
}

// below shows a line below everything else on a terminal, until the next one or
// until something else is written.
func (s *screen) below(line string) {
	if line != s.live {
		s.err().WriteString(line)
		s.live = line
	}
}

// clear removes that line.
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
