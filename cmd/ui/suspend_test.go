package ui

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A line at the bottom of a terminal needs a cursor, and no other writer.
func TestAlone(t *testing.T) {
	t.Parallel()
	_, tty := open(t)
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	reader, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = file.Close(), reader.Close(), pipe.Close() })
	for name, c := range map[string]struct {
		out, err         *os.File
		outTerm, errTerm bool
		term             string
		alone, one       bool
	}{
		"one terminal":     {tty, tty, true, true, "xterm", true, true},
		"no cursor":        {tty, tty, true, true, "dumb", false, true},
		"output in a file": {file, tty, false, true, "xterm", true, false},
		"output in a pipe": {pipe, tty, false, true, "xterm", false, false},
		"log in a file":    {tty, file, true, false, "xterm", false, false},
	} {
		s, _, _ := Test()
		s.Out, s.Err, s.OutTerm, s.ErrTerm = c.out, c.err, c.outTerm, c.errTerm
		s.Env = func(string) string { return c.term }
		if alone, one := s.Alone(), s.OneTerminal(); alone != c.alone || one != c.one {
			t.Errorf("%s: alone %t, one terminal %t", name, alone, one)
		}
	}
	again, err := os.OpenFile(tty.Name(), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	s, _, _ := Test()
	if !s.Foreground() {
		t.Error("without a terminal this process is in the background")
	}
	s.Out, s.Err, s.OutTerm, s.ErrTerm = tty, again, true, true
	if !s.OneTerminal() {
		t.Error("a terminal that is open twice is two terminals")
	}
	_, other := open(t)
	s.Out, s.Err, s.OutTerm, s.ErrTerm = tty, other, true, true
	if s.OneTerminal() {
		t.Error("two terminals are one")
	}
	if s.Foreground() {
		t.Error("a terminal of another session belongs to this process")
	}
}
