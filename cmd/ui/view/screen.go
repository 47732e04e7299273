package view

import (
	"bufio"
	"io"

	"taskrun/cmd/ui"
)

// screenBuffer is the size of the output buffer, in bytes.
const screenBuffer = 256 << 10

// screen buffers the two streams of a view, and keeps the order of writes to both,
// because they may lead to the same place. It returns errors of stdout from flush,
// and ignores those of stderr.
type screen struct {
	bufOut, bufErr *bufio.Writer // the same one if both streams are one terminal
	bottom
}

func newScreen(s *ui.Streams) *screen {
	sc := &screen{bufOut: bufio.NewWriterSize(s.Out, screenBuffer), bottom: bottom{shared: s.OutTerm, streams: s, turn: make(chan struct{}, 1)}}
	if sc.bufErr = sc.bufOut; !s.OneTerminal() {
		sc.bufErr = bufio.NewWriterSize(s.Err, 4<<10)
	}
	return sc
}

// out returns the stream for the tasks' output. A line at the bottom of a terminal
// may stay if the output goes elsewhere.
func (s *screen) out() *bufio.Writer {
	if s.shared {
		s.clear()
	}
	if s.bufErr != s.bufOut && s.bufErr.Buffered() > 0 {
		s.flushErr()
	}
	return s.bufOut
}

// err returns the stream for taskrun's own lines.
func (s *screen) err() *bufio.Writer {
	s.clear()
	return s.nextErr()
}

// nextErr returns the same with the line at the bottom where it is.
func (s *screen) nextErr() *bufio.Writer {
	if s.bufErr != s.bufOut && s.bufOut.Buffered() > 0 {
		_ = s.bufOut.Flush() // flush reports the error
	}
	return s.bufErr
}

// below shows a line below everything else on a terminal, until the next one or
// until something else is written there.
func (s *screen) below(line string) {
	s.show(line, func(erase bool) {
		w := s.nextErr()
		if erase {
			w.WriteString(eraseBelow)
		}
		w.WriteString(line + "\r")
		s.flushErr()
	})
}

func (s *screen) clear() {
	if s.gone() {
		s.bufErr.WriteString(eraseBelow)
	}
}

// flush writes everything and returns the first error of stdout.
func (s *screen) flush() error {
	if s.bufErr != s.bufOut {
		s.flushErr()
	}
	return s.bufOut.Flush()
}

// flushErr writes the lines for stderr.
func (s *screen) flushErr() {
	if s.bufErr.Flush() != nil && s.bufErr != s.bufOut {
		s.bufErr.Reset(io.Discard)
	}
}

func (s *screen) discardOut() { s.bufOut.Reset(io.Discard) }
