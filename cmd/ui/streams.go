// Package ui shows a run: it owns the terminal's streams, folds the events of
// a run into what is known of it, and draws that as plain lines, JSON, or the
// tasks' output alone. It never decides anything about the run.
package ui

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"

	"taskrun/jobspec/visible"
)

// Streams are the process's standard streams and what is known of them.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// InTerm, OutTerm and ErrTerm tell which of them is a terminal.
	InTerm, OutTerm, ErrTerm bool
	Env                      func(string) string

	width func() int
}

// ReadLine reads a line of what the user types, without its end.
func (s *Streams) ReadLine() (string, error) {
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := s.In.Read(b)
		if n > 0 && b[0] == '\n' {
			return strings.TrimSpace(string(line)), nil
		}
		line = append(line, b[:n]...)
		if err != nil {
			return strings.TrimSpace(string(line)), err
		}
	}
}

// System returns the streams of this process.
func System() *Streams {
	return &Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTerm:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTerm: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTerm: term.IsTerminal(int(os.Stderr.Fd())),
		Env:     os.Getenv,
		width:   terminalWidth,
	}
}

// Test returns streams into memory: no terminals, an empty environment and 80
// columns, until the test says otherwise.
func Test() (s *Streams, out, err *bytes.Buffer) {
	out, err = new(bytes.Buffer), new(bytes.Buffer)
	return &Streams{
		In: new(bytes.Buffer), Out: out, Err: &lockedWriter{w: err},
		Env:   func(string) string { return "" },
		width: func() int { return 0 },
	}, out, err
}

// Data is stdout for what other programs read, such as a job file: as it is, but
// on a terminal visible.
func (s *Streams) Data() io.Writer {
	if s.OutTerm {
		return visible.Writer{To: s.Out}
	}
	return s.Out
}

// Width returns the columns of the terminal, or those of the variable COLUMNS,
// or 80.
func (s *Streams) Width() int {
	if w := s.width(); w > 0 {
		return w
	}
	if w, err := strconv.Atoi(s.Env("COLUMNS")); err == nil && w > 0 {
		return w
	}
	return 80
}

// narrow reports whether lines must be short: there is a terminal, and it is
// not 60 columns wide.
func (s *Streams) narrow() bool { return (s.OutTerm || s.ErrTerm) && s.Width() < 60 }

func terminalWidth() int {
	for _, f := range []*os.File{os.Stderr, os.Stdout} {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 0
}

// lockedWriter lets several goroutines write to what takes only one.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
