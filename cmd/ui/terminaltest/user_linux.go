// Package terminaltest is the user of a program in a terminal, for tests. The program is
// the test binary, which plays a role.
package terminaltest

import (
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// RoleEnv is the variable with the role that the test binary plays.
const RoleEnv = "TERMINALTEST_ROLE"

// User sits in front of a terminal in which a program runs.
type User struct {
	t         *testing.T
	Cmd       *exec.Cmd
	ptmx, tty *os.File
	before    unix.Termios
	output    chan string
	unseen    string
}

// Start starts this test binary in a role, in a terminal of 60 columns and 4 lines.
func Start(t *testing.T, role string, env ...string) *User {
	t.Helper()
	u := &User{t: t, Cmd: exec.Command("/proc/self/exe")}
	var err error
	if u.ptmx, u.tty, err = pty.Open(); err != nil {
		t.Fatal(err)
	}
	u.output = make(chan string, 1024)
	go func() {
		defer close(u.output)
		for buf := make([]byte, 4096); ; {
			n, err := u.ptmx.Read(buf)
			if err != nil {
				return
			}
			u.output <- string(buf[:n])
		}
	}()
	t.Cleanup(func() {
		_ = u.tty.Close()
		for range u.output { // until it is closed
		}
		_ = u.ptmx.Close()
	})
	u.Resize(60, 4)
	u.before = u.mode()
	u.Cmd.Env = append([]string{"TERM=xterm-256color", RoleEnv + "=" + role}, env...)
	u.Cmd.Stdin, u.Cmd.Stdout, u.Cmd.Stderr = u.tty, u.tty, u.tty
	u.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	u.must(u.Cmd.Start())
	t.Cleanup(func() {
		_ = u.Cmd.Process.Kill() // unless it has ended
		_, _ = u.Cmd.Process.Wait()
	})
	return u
}

func (u *User) must(err error) {
	u.t.Helper()
	if err != nil {
		u.t.Fatal(err)
	}
}

func (u *User) mode() unix.Termios {
	u.t.Helper()
	mode, err := unix.IoctlGetTermios(int(u.tty.Fd()), unix.TCGETS)
	u.must(err)
	return *mode
}

// Sees waits until the terminal shows a match, and returns what came before it.
func (u *User) Sees(pattern string) (before string) {
	u.t.Helper()
	re := regexp.MustCompile(pattern)
	for timeout := time.After(20 * time.Second); ; {
		if at := re.FindStringIndex(u.unseen); at != nil {
			before, u.unseen = u.unseen[:at[0]], u.unseen[at[1]:]
			return before
		}
		select {
		case text := <-u.output:
			u.unseen += text
		case <-timeout:
			u.t.Fatalf("%q is not to be seen in %q", pattern, u.unseen)
		}
	}
}

// Types types a text and waits until the terminal shows a pattern.
func (u *User) Types(text, pattern string) (before string) {
	u.t.Helper()
	_, err := u.ptmx.WriteString(text)
	u.must(err)
	return u.Sees(pattern)
}

// Resize changes the size of the terminal.
func (u *User) Resize(columns, lines uint16) {
	u.t.Helper()
	u.must(pty.Setsize(u.ptmx, &pty.Winsize{Cols: columns, Rows: lines}))
}

// IsTaken reports whether the terminal is not as it was before the program.
func (u *User) IsTaken() bool { return u.mode() != u.before }

// Ended waits for the end of the program, which gives the terminal back.
func (u *User) Ended(code int) {
	u.t.Helper()
	_ = u.Cmd.Wait()
	if got := u.Cmd.ProcessState.ExitCode(); got != code || u.IsTaken() {
		u.t.Errorf("exit code %d, want %d; the terminal is given back: %v", got, code, !u.IsTaken())
	}
}
