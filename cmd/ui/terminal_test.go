package ui

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/hashicorp/nomad/api"
	"golang.org/x/term"
)

// open returns a terminal of 100 columns and 30 rows, and the user's end of it.
func open(t *testing.T) (user, tty *os.File) {
	t.Helper()
	user, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = user.Close(), tty.Close() })
	if err := pty.Setsize(user, &pty.Winsize{Cols: 100, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	return user, tty
}

// mode is the mode of a terminal.
func mode(t *testing.T, tty *os.File) term.State {
	t.Helper()
	state, err := term.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return *state
}

// A session puts the terminal into raw mode, gets its size at once and after
// each change, and restores the mode in every case.
func TestTerminalIsTakenAndGivenBack(t *testing.T) { //nolint:paralleltest // signals are the process's
	user, tty := open(t)
	s, _, _ := Test()
	s.In, s.InTerm = tty, true
	terminal := s.NewTerminal()
	before := mode(t, tty)
	release, err := terminal.Take()
	if err != nil {
		t.Fatal(err)
	}
	if mode(t, tty) == before {
		t.Error("the terminal is not raw")
	}
	if got, want := <-terminal.Sizes(), (api.TerminalSize{Width: 100, Height: 30}); got != want {
		t.Errorf("size %+v, want %+v", got, want)
	}

	if err := pty.Setsize(user, &pty.Winsize{Cols: 120, Rows: 40}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	if got, want := <-terminal.Sizes(), (api.TerminalSize{Width: 120, Height: 40}); got != want {
		t.Errorf("size %+v, want %+v", got, want)
	}

	terminal.Restore() // as a shell does while the process is stopped
	if mode(t, tty) != before {
		t.Error("the terminal is not as it was")
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if <-terminal.Sizes(); mode(t, tty) == before {
		t.Error("the terminal is not raw after the process goes on")
	}
	release()
	release()
	if mode(t, tty) != before {
		t.Error("the terminal is not as it was at the end")
	}
}

// A panic restores the terminal.
func TestTerminalIsGivenBackInAPanic(t *testing.T) {
	t.Parallel()
	_, tty := open(t)
	terminal := &Terminal{in: tty, files: []*os.File{tty}, sizes: make(chan api.TerminalSize, 1)}
	before := mode(t, tty)
	defer func() {
		if v := recover(); v != "oh" || mode(t, tty) != before {
			t.Errorf("panic %v; as it was: %v", v, mode(t, tty) == before)
		}
	}()
	defer terminal.Recover()
	for range 2 { // the original mode counts
		if err := terminal.raw(); err != nil {
			t.Fatal(err)
		}
	}
	terminal.Recover() // there is no panic yet
	if mode(t, tty) == before {
		t.Error("the terminal was given back without a panic")
	}
	panic("oh")
}

// The size comes from the first file that knows one, only the newest counts,
// and Take fails without a terminal.
func TestTerminalSize(t *testing.T) {
	t.Parallel()
	user, tty := open(t)
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	terminal := &Terminal{in: file, files: []*os.File{file, tty}, sizes: make(chan api.TerminalSize, 1)}
	for _, columns := range []uint16{100, 110} {
		if err := pty.Setsize(user, &pty.Winsize{Cols: columns, Rows: 30}); err != nil {
			t.Fatal(err)
		}
		terminal.measure()
	}
	if got := <-terminal.Sizes(); got.Width != 110 || got.Height != 30 {
		t.Errorf("size %+v", got)
	}
	if release, err := terminal.Take(); release != nil || !errors.Is(err, syscall.ENOTTY) || !strings.HasPrefix(err.Error(), "cannot take over the terminal: ") {
		t.Errorf("took it: %v", err)
	}
	terminal.files = terminal.files[:1]
	terminal.measure()
	select {
	case size := <-terminal.Sizes():
		t.Errorf("size %+v", size)
	default:
	}
	if size, err := terminal.size(); err == nil || size != (api.TerminalSize{}) {
		t.Errorf("%+v, %v", size, err)
	}
}

// The width is that of the terminal, of COLUMNS, or 80; lines are short on a
// terminal of less than 60.
func TestWidth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width   int
		columns string
		want    int
		narrow  bool
	}{
		{100, "50", 100, false},
		{1, "", 1, true},
		{0, "50", 50, true},
		{0, "1", 1, true},
		{0, "60", 60, false},
		{59, "", 59, true},
		{0, "", 80, false},
		{0, "0", 80, false},
		{0, "-5", 80, false},
		{0, "wide", 80, false},
	} {
		s, _, _ := Test()
		s.width, s.Env = func() int { return c.width }, func(name string) string { return map[string]string{"COLUMNS": c.columns}[name] }
		if got := s.Width(); got != c.want || s.Narrow() {
			t.Errorf("%+v: %d columns, short without a terminal: %v", c, got, s.Narrow())
		}
		for _, term := range []*bool{&s.OutTerm, &s.ErrTerm} {
			*term = true
			if got := s.Narrow(); got != c.narrow {
				t.Errorf("%+v: short: %v", c, got)
			}
			*term = false
		}
	}
}

// ReadLine reads a line and nothing after it.
func TestReadLine(t *testing.T) {
	t.Parallel()
	s, _, _ := Test()
	s.In = strings.NewReader(" yes \r\n\nrest")
	for _, want := range []struct {
		line string
		err  error
	}{{"yes", nil}, {"", nil}, {"rest", io.EOF}, {"", io.EOF}} {
		if line, err := s.ReadLine(); line != want.line || !errors.Is(err, want.err) {
			t.Errorf("%q, %v; want %q, %v", line, err, want.line, want.err)
		}
	}
}

// Data is unchanged, except that control characters are made visible on a
// terminal.
func TestData(t *testing.T) {
	t.Parallel()
	for terminal, want := range map[bool]string{false: "a\x1b\n", true: "a\\x1b\n"} {
		s, out, _ := Test()
		s.OutTerm = terminal
		if _, err := io.WriteString(s.Data(), "a\x1b\n"); err != nil || out.String() != want {
			t.Errorf("terminal %v: %q, %v", terminal, out, err)
		}
	}
}

// NewTerminal returns nil if stdin is not a terminal.
func TestNoTerminal(t *testing.T) {
	t.Parallel()
	streams, _, _ := Test()
	streams.InTerm = true
	if streams.NewTerminal() != nil {
		t.Error("what is no file is a terminal")
	}
	streams.In, streams.InTerm = os.Stdin, false
	if streams.NewTerminal() != nil {
		t.Error("a file that is no terminal is one")
	}
	streams.InTerm = true
	for outTerm, want := range map[bool]int{true: 2, false: 1} {
		streams.Out, streams.OutTerm = os.Stdout, outTerm
		if terminal := streams.NewTerminal(); terminal == nil || len(terminal.files) != want || terminal.in != os.Stdin {
			t.Errorf("the terminal is %+v", terminal)
		}
	}
}
