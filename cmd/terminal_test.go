package cmd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
)

// terminals are the terminals of scripts, one for each. The commands are
//
//	terminal COLSxROWS COMMAND...  start a command in a terminal
//	type TEXT                      type; TEXT is the content of a Go string literal
//	see REGEXP                     wait for a match after the text seen last
//	shows REGEXP                   wait until the screen, which is drawn in place, matches
//	resize COLSxROWS
//	signal TSTP|CONT|TERM|…        send the command a signal; TSTP and CONT wait until
//	                               it has restored the terminal, and taken it again
//	left CODE                      wait for its end; the terminal must be restored
type terminals struct {
	mu   sync.Mutex
	open map[string]*terminal // by the script's directory
}

type terminal struct {
	cmd       *exec.Cmd
	ptmx, tty *os.File
	before    string // the terminal's mode
	output    chan string
	unseen    string
	picture   picture
	reading   sync.WaitGroup
}

func (ts *terminals) commands() map[string]func(*testscript.TestScript, bool, []string) {
	on := func(do func(*testscript.TestScript, *terminal, string)) func(*testscript.TestScript, bool, []string) {
		return func(script *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) != 1 {
				script.Fatalf("usage: COMMAND ARGUMENT")
			}
			ts.mu.Lock()
			t := ts.open[script.MkAbs(".")]
			ts.mu.Unlock()
			if t == nil {
				script.Fatalf("there is no terminal")
			}
			do(script, t, args[0])
		}
	}
	return map[string]func(*testscript.TestScript, bool, []string){
		"terminal": ts.start, "type": on(typeText), "see": on(see), "shows": on(shows), "resize": on(resize), "signal": on(send), "left": on(left),
	}
}

func (ts *terminals) start(script *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		script.Fatalf("usage: terminal COLSxROWS COMMAND...")
	}
	path, err := exec.LookPath(args[1])
	script.Check(err)
	t := &terminal{cmd: exec.Command(path, args[2:]...), output: make(chan string, 1024)}
	t.ptmx, t.tty, err = pty.Open()
	script.Check(err)
	script.Check(setSize(t.ptmx, args[0]))
	t.cmd.Dir, t.cmd.Env = script.MkAbs("."), append(environment(script), "TERM=xterm-256color")
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = t.tty, t.tty, t.tty
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	t.before = mode(script, t.tty)
	script.Check(t.cmd.Start())
	t.reading.Go(t.read)
	ts.mu.Lock()
	if ts.open == nil {
		ts.open = make(map[string]*terminal)
	}
	ts.open[script.MkAbs(".")] = t
	ts.mu.Unlock()
	script.Defer(func() {
		_ = t.cmd.Process.Kill() // unless it has ended
		_, _ = t.cmd.Process.Wait()
		_, _ = t.tty.Close(), t.ptmx.Close()
		t.reading.Wait()
	})
}

// mode describes the terminal's mode.
func mode(script *testscript.TestScript, tty *os.File) string {
	stty := exec.Command("stty", "-g")
	stty.Stdin = tty
	out, err := stty.Output()
	script.Check(err)
	return string(out)
}

func setSize(ptmx *os.File, size string) error {
	var cols, rows uint16
	if _, err := fmt.Sscanf(size, "%dx%d", &cols, &rows); err != nil {
		return err
	}
	return pty.Setsize(ptmx, &pty.Winsize{Cols: cols, Rows: rows})
}

// read reads what the terminal shows, until it is closed.
func (t *terminal) read() {
	buf := make([]byte, 4096)
	for {
		n, err := t.ptmx.Read(buf)
		if err != nil {
			return
		}
		select {
		case t.output <- string(buf[:n]):
		default: // a flood that no test reads
		}
	}
}

// take reads the output of the terminal.
func (t *terminal) take(text string) {
	t.unseen += text
	t.picture.write(text)
}

func typeText(script *testscript.TestScript, t *terminal, text string) {
	text, err := strconv.Unquote(`"` + text + `"`)
	script.Check(err)
	_, err = t.ptmx.WriteString(text)
	script.Check(err)
}

func see(script *testscript.TestScript, t *terminal, pattern string) {
	re, err := regexp.Compile(pattern)
	script.Check(err)
	timeout := time.After(scriptTime)
	for {
		if at := re.FindStringIndex(t.unseen); at != nil {
			t.unseen = t.unseen[at[1]:]
			return
		}
		select {
		case s := <-t.output:
			t.take(s)
		case <-timeout:
			script.Fatalf("%q is not to be seen in %q", pattern, t.unseen)
		}
	}
}

func resize(script *testscript.TestScript, t *terminal, size string) {
	script.Check(setSize(t.ptmx, size))
}

func send(script *testscript.TestScript, t *terminal, name string) {
	signals := map[string]syscall.Signal{
		"TSTP": syscall.SIGTSTP, "CONT": syscall.SIGCONT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "INT": syscall.SIGINT,
	}
	sig, ok := signals[name]
	if !ok {
		script.Fatalf("unknown signal %q", name)
	}
	script.Check(t.cmd.Process.Signal(sig))
	switch sig {
	case syscall.SIGTSTP:
	case syscall.SIGCONT:
		for deadline := time.Now().Add(scriptTime); mode(script, t.tty) == t.before; {
			if time.Now().After(deadline) {
				script.Fatalf("the command does not take the terminal again")
			}
		}
		return
	default:
		return
	}
	var status syscall.WaitStatus
	_, err := syscall.Wait4(t.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	script.Check(err)
	if now := mode(script, t.tty); !status.Stopped() || now != t.before {
		script.Fatalf("stopped: %v; the terminal's mode was %s, and is %s", status.Stopped(), t.before, now)
	}
}

func left(script *testscript.TestScript, t *terminal, code string) {
	want, err := strconv.Atoi(code)
	script.Check(err)
	ended := make(chan error, 1)
	go func() { ended <- t.cmd.Wait() }()
	select {
	case err = <-ended:
	case <-time.After(scriptTime):
		_ = t.cmd.Process.Kill()
		script.Fatalf("it does not end: %v", <-ended)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		script.Fatalf("%v", err)
	}
	if got := t.cmd.ProcessState.ExitCode(); got != want {
		script.Fatalf("exit code %d, want %d; unseen: %q", got, want, t.unseen+strings.Join(t.rest(), ""))
	}
	if now := mode(script, t.tty); now != t.before {
		script.Fatalf("the terminal's mode was %s, and is %s", t.before, now)
	}
}

// rest returns the text that was shown and not read.
func (t *terminal) rest() (rest []string) {
	for {
		select {
		case s := <-t.output:
			rest = append(rest, s)
		default:
			return rest
		}
	}
}
