package fullscreen

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"taskrun/cmd/ui"
	"taskrun/cmd/ui/screen"
)

// roleEnv makes the test binary a program with a terminal of its own.
const roleEnv = "FULLSCREEN_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "":
		os.Exit(m.Run())
	case "shell":
		shell()
	default:
		program()
	}
}

// shell runs the program in a process group of its own, as a shell does, and continues
// it each time it is stopped.
func shell() {
	signal.Ignore(syscall.SIGTTOU)
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), roleEnv+"=program")
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true}
	if err := c.Start(); err != nil {
		panic(err)
	}
	for {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(c.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
			os.Exit(status.ExitStatus())
		}
		fmt.Println("stopped by", status.StopSignal())
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGCONT)
	}
}

// program shows full screens, and does what the keys say.
func program() {
	t, err := Open(ui.System(), true)
	if err != nil {
		panic(err)
	}
	locale, set := os.LookupEnv("LC_ALL")
	t.Draw([]screen.Line{screen.LineOf(fmt.Sprintf("… locale %q %v", locale, set), screen.Good)})
	for said := ""; ; {
		select {
		case in := <-t.Inputs():
			switch {
			case in.Pasted:
				said = "pasted:" + string(in.Key)
			case in.Mouse != nil:
				said = "clicked"
			case in.Resize:
				width, height := t.Size()
				said = fmt.Sprintf("%d×%d", width, height)
			case in.Key == "m":
				said = fmt.Sprint("mouse:", t.ToggleMouse())
			case in.Key == "c":
				t.Copy("text")
			case in.Key == "r":
				t.Redraw()
			case in.Key == "l":
				err = t.Release(func() { fmt.Println("released") })
			case in.Key == "ctrl+z":
				err = t.Suspend()
				said = "suspended"
			case in.Key == "q":
				t.Close()
				t.Close() // changes nothing
				os.Exit(3)
			}
		case sig := <-t.Signals():
			err = t.Obey(sig)
			said = "obeyed"
		}
		if err != nil {
			said = err.Error()
		}
		t.Draw([]screen.Line{screen.LineOf(said, screen.Plain)})
	}
}

// A user sits in front of a terminal in which a program runs.
type user struct {
	*testing.T
	cmd       *exec.Cmd
	ptmx, tty *os.File
	before    term.State
	output    chan string
	unseen    string
}

func start(t *testing.T, role string, env ...string) *user {
	t.Helper()
	u := &user{T: t, cmd: exec.Command("/proc/self/exe")}
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
	u.must(pty.Setsize(u.ptmx, &pty.Winsize{Cols: 60, Rows: 4}))
	u.before = u.mode()
	u.cmd.Env = append([]string{"TERM=xterm-256color", roleEnv + "=" + role}, env...)
	u.cmd.Stdin, u.cmd.Stdout, u.cmd.Stderr = u.tty, u.tty, u.tty
	u.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	u.must(u.cmd.Start())
	t.Cleanup(func() {
		_ = u.cmd.Process.Kill() // unless it has ended
		_, _ = u.cmd.Process.Wait()
	})
	return u
}

func (u *user) must(err error) {
	u.Helper()
	if err != nil {
		u.Fatal(err)
	}
}

func (u *user) mode() term.State {
	u.Helper()
	state, err := term.GetState(int(u.tty.Fd()))
	u.must(err)
	return *state
}

// sees waits until the terminal shows a match, and returns what came before it.
func (u *user) sees(pattern string) (before string) {
	u.Helper()
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
			u.Fatalf("%q is not to be seen in %q", pattern, u.unseen)
		}
	}
}

// types types a text and waits for what the terminal shows then.
func (u *user) types(text, pattern string) (before string) {
	u.Helper()
	_, err := u.ptmx.WriteString(text)
	u.must(err)
	return u.sees(pattern)
}

// ended waits for the end of the program, which gives the terminal back.
func (u *user) ended(code int) {
	u.Helper()
	_ = u.cmd.Wait()
	if got := u.cmd.ProcessState.ExitCode(); got != code || u.mode() != u.before {
		u.Errorf("exit code %d, want %d; the terminal is as before: %v", got, code, u.mode() == u.before)
	}
}

const (
	entered = `\x1b\[\?1049h`
	left    = `\x1b\[\?1049l`
)

func TestTerminal(t *testing.T) {
	t.Parallel()
	u := start(t, "program")
	for _, part := range []string{`\x1b\[\?1000h`, `\x1b\[\?2004h`} { // the mouse with its buttons, pasting
		if u.sees(part); u.mode() == u.before {
			t.Error("the terminal was not taken over")
		}
	}
	u.sees(`… locale "" false`)
	u.sees("60×4") // the first event is the size
	u.types("\x1b[200~x\x1b[201~", "pasted:x")
	u.types("\x1b[<0;3;2M", "clicked")
	if before := u.types("m", "mouse:false"); !strings.Contains(before, "\x1b[?1000l") {
		t.Errorf("the mouse is not left to the terminal: %q", before)
	}
	if before := u.types("m", "true"); !strings.Contains(before, "\x1b[?1000h") {
		t.Errorf("the mouse is not taken back: %q", before)
	}
	u.types("c", `\x1b\]52;c;dGV4dA==`)
	u.types("r", "mouse:true")
	u.must(pty.Setsize(u.ptmx, &pty.Winsize{Cols: 50, Rows: 5}))
	u.sees("50×5")
	for _, part := range []string{left, "released", entered, "50×5"} { // all is drawn again
		u.types(map[string]string{left: "l"}[part], part)
	}
	u.types("\x1a", "suspended") // there is no shell that could continue it
	u.types("q", left)
	u.ended(3)
}

// Signals stop and end the program, and the terminal is as before in each case.
func TestSignals(t *testing.T) {
	t.Parallel()
	u := start(t, "program")
	for range 2 {
		u.sees(entered)
		u.sees("…|obeyed")
		u.must(u.cmd.Process.Signal(syscall.SIGTSTP))
		var status syscall.WaitStatus
		_, err := syscall.Wait4(u.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		if u.must(err); !status.Stopped() || u.mode() != u.before {
			t.Fatalf("stopped %v, the terminal is as before: %v", status.Stopped(), u.mode() == u.before)
		}
		u.sees(left)
		u.must(u.cmd.Process.Signal(syscall.SIGCONT))
	}
	u.sees("obeyed")
	u.must(u.cmd.Process.Signal(syscall.SIGQUIT))
	u.sees(left)
	u.sees("SIGQUIT: quit")
	u.sees(`goroutine \d+`)
	u.ended(2)
}

// Ctrl-Z stops the process group if a shell can continue it.
func TestSuspend(t *testing.T) {
	t.Parallel()
	u := start(t, "shell", "LC_ALL=de_DE.UTF-8")
	u.sees(`… locale "de_DE.UTF-8" true`)
	u.types("\x1a", left)
	u.sees("stopped by stopped")
	u.sees(entered)
	u.sees("suspended")
	u.types("q", left)
	u.ended(3)
}

// A locale without the characters has others in their place.
func TestLocale(t *testing.T) {
	t.Parallel()
	u := start(t, "program", "LC_ALL=C")
	if before := u.sees(`locale "C" true`); strings.Contains(before, "…") {
		t.Errorf("shown: %q", before)
	}
	u.types("q", left)
	u.ended(3)
}

func TestNoTerminal(t *testing.T) {
	streams, _, _ := ui.Test()
	streams.Env = func(name string) string { return cmp.Or(map[string]string{"LC_ALL": "C"}[name], "nonesuch") }
	t.Setenv("TERM", "nonesuch")
	if _, err := Open(streams, true); err == nil || !strings.HasPrefix(err.Error(), `cannot take over the terminal (TERM is "nonesuch"): `) {
		t.Errorf("error %v", err)
	}
}
