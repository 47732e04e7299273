package fullscreen

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"taskrun/cmd/ui"
	"taskrun/cmd/ui/screen"
	"taskrun/cmd/ui/terminaltest"
)

func TestMain(m *testing.M) {
	switch os.Getenv(terminaltest.RoleEnv) {
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
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), terminaltest.RoleEnv+"=program")
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

const (
	entered = `\x1b\[\?1049h`
	left    = `\x1b\[\?1049l`
)

func TestTerminal(t *testing.T) {
	t.Parallel()
	u := terminaltest.Start(t, "program")
	for _, part := range []string{`\x1b\[\?1000h`, `\x1b\[\?2004h`} { // the mouse with its buttons, pasting
		if u.Sees(part); !u.IsTaken() {
			t.Error("the terminal was not taken over")
		}
	}
	u.Sees(`… locale "" false`)
	u.Sees("60×4") // the first event is the size
	u.Types("\x1b[200~x\x1b[201~", "pasted:x")
	u.Types("\x1b[<0;3;2M", "clicked")
	if before := u.Types("m", "mouse:false"); !strings.Contains(before, "\x1b[?1000l") {
		t.Errorf("the mouse is not left to the terminal: %q", before)
	}
	if before := u.Types("m", "true"); !strings.Contains(before, "\x1b[?1000h") {
		t.Errorf("the mouse is not taken back: %q", before)
	}
	u.Types("c", `\x1b\]52;c;dGV4dA==`)
	u.Types("r", "mouse:true")
	u.Resize(50, 5)
	// When the size changes, tcell draws even in the middle of a picture.
	u.Sees("50×")
	for _, part := range []string{left, "released", entered, "50×5"} { // all is drawn again
		u.Types(map[string]string{left: "l"}[part], part)
	}
	u.Types("\x1a", "suspended") // there is no shell that could continue it
	u.Types("q", left)
	u.Ended(3)
}

// Signals stop and end the program, and the terminal is as before in each case.
func TestSignals(t *testing.T) {
	t.Parallel()
	u := terminaltest.Start(t, "program")
	signal := func(sig os.Signal) {
		if err := u.Cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		u.Sees(entered)
		u.Sees("…|obeyed")
		signal(syscall.SIGTSTP)
		var status syscall.WaitStatus
		_, err := syscall.Wait4(u.Cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		if err != nil || !status.Stopped() || u.IsTaken() {
			t.Fatalf("stopped %v, error %v, the terminal is taken: %v", status.Stopped(), err, u.IsTaken())
		}
		u.Sees(left)
		signal(syscall.SIGCONT)
	}
	u.Sees("obeyed")
	signal(syscall.SIGQUIT)
	u.Sees(left)
	u.Sees("SIGQUIT: quit")
	u.Sees(`goroutine \d+`)
	u.Ended(2)
}

// Ctrl-Z stops the process group if a shell can continue it.
func TestSuspend(t *testing.T) {
	t.Parallel()
	u := terminaltest.Start(t, "shell", "LC_ALL=de_DE.UTF-8")
	u.Sees(`… locale "de_DE.UTF-8" true`)
	u.Types("\x1a", left)
	u.Sees("stopped by stopped")
	u.Sees(entered)
	u.Sees("suspended")
	u.Types("q", left)
	u.Ended(3)
}

// A locale without the characters has others in their place.
func TestLocale(t *testing.T) {
	t.Parallel()
	u := terminaltest.Start(t, "program", "LC_ALL=C")
	if before := u.Sees(`locale "C" true`); strings.Contains(before, "…") {
		t.Errorf("shown: %q", before)
	}
	u.Types("q", left)
	u.Ended(3)
}

func TestNoTerminal(t *testing.T) {
	streams, _, _ := ui.Test()
	streams.Env = func(name string) string { return cmp.Or(map[string]string{"LC_ALL": "C"}[name], "nonesuch") }
	t.Setenv("TERM", "nonesuch")
	if _, err := Open(streams, true); err == nil || !strings.HasPrefix(err.Error(), `cannot take over the terminal (TERM is "nonesuch"): `) {
		t.Errorf("error %v", err)
	}
}
