package cmd

import (
	"os"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"taskrun/cmd/ui"
)

// panics is a stream that panics, as a bug would.
type panics struct{}

func (panics) Read([]byte) (int, error)  { panic("oh") }
func (panics) Write([]byte) (int, error) { panic("oh") }

// TestSessionsGiveTheTerminalBackInAPanic panics in a goroutine of a session,
// which must restore the terminal.
func TestSessionsGiveTheTerminalBackInAPanic(t *testing.T) {
	t.Parallel()
	user, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = user.Close(), tty.Close() })
	mode := func(f *os.File) unix.Termios {
		mode, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		return *mode
	}
	before := mode(tty)
	for name, use := range map[string]func(s *execSession){
		"reading": func(s *execSession) { _, _ = (&sessionReader{s, panics{}}).Read(nil) },
		"writing": func(s *execSession) { _, _ = (&sessionWriter{s, panics{}, nil}).Write(nil) },
	} {
		s := &execSession{terminal: (&ui.Streams{In: tty, InTerm: true}).NewTerminal()}
		release, err := s.terminal.Take()
		if err != nil {
			t.Fatal(err)
		}
		if mode(tty) == before {
			t.Fatal("the session did not take the terminal")
		}
		func() {
			defer func() {
				if v := recover(); v != "oh" {
					t.Errorf("%s: panic %v", name, v)
				}
			}()
			use(s)
		}()
		if mode(tty) != before {
			t.Errorf("%s: the terminal is not as it was", name)
		}
		release()
	}
}
