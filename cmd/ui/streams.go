// Package ui writes to the user: it has the standard streams and the terminal
// behind them, and the colors, tables and JSON objects that are written there.
// Package view shows a run, package waterfall its trace, package answer the
// results of other commands.
package ui

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"

	"taskrun/jobspec/visible"
)

// Streams are the process's standard streams and their properties.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// InTerm, OutTerm and ErrTerm are true for terminals.
	InTerm, OutTerm, ErrTerm bool
	Env                      func(string) string

	width func() int
}

// ReadLine reads a line that the user types, without the line end.
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

// Test returns streams in memory, without terminals, with an empty environment
// and 80 columns.
func Test() (s *Streams, out, err *bytes.Buffer) {
	out, err = new(bytes.Buffer), new(bytes.Buffer)
	return &Streams{
		In: new(bytes.Buffer), Out: out, Err: &lockedWriter{w: err},
		Env:   func(string) string { return "" },
		width: func() int { return 0 },
	}, out, err
}

// Data returns stdout for data that other programs read, such as a job file:
// unchanged, except that on a terminal control characters are made visible.
func (s *Streams) Data() io.Writer {
	if s.OutTerm {
		return visible.Writer{To: s.Out}
	}
	return s.Out
}

// Width returns the columns of the terminal, or else the value of COLUMNS, or
// else 80.
func (s *Streams) Width() int {
	if w := s.width(); w > 0 {
		return w
	}
	if w, err := strconv.Atoi(s.Env("COLUMNS")); err == nil && w > 0 {
		return w
	}
	return 80
}

// size returns the columns and lines of the terminal behind stdout.
func (s *Streams) size() (width, height int) {
	if out, ok := s.Out.(*os.File); ok {
		if w, h, err := term.GetSize(int(out.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return s.Width(), 24
}

// UTF8 reports whether the user's locale has all characters. One that is not set does,
// because that is usual in containers.
func (s *Streams) UTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(s.Env(name)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return true
}

// TableWidth returns the columns of the terminal behind stdout, or 0 without a
// terminal, because text in a file or a pipe is not cut.
func (s *Streams) TableWidth() int {
	if s.OutTerm {
		return s.Width()
	}
	return 0
}

// Narrow reports whether lines must be short: there is a terminal with less
// than 60 columns.
func (s *Streams) Narrow() bool { return (s.OutTerm || s.ErrTerm) && s.Width() < 60 }

func terminalWidth() int {
	for _, f := range []*os.File{os.Stderr, os.Stdout} {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 0
}

// lockedWriter makes a writer safe for concurrent use.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// WriteLines writes lines; the next flush reports errors.
func WriteLines(w io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
}
