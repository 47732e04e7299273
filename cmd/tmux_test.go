package cmd

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tmux is a real terminal with a shell: a window of a tmux server that only the test
// knows. Runs that the shell starts have a home and a data directory of their own.
type tmux struct {
	t       *testing.T
	dir     string // of the shell
	socket  string
	taskrun string
	env     []string
}

// newTmux starts a shell in a terminal of COLSxROWS, in a directory with a job file; or
// it skips the test without one of the programs.
func newTmux(t *testing.T, size, job string, programs ...string) *tmux {
	t.Helper()
	for _, name := range append(programs, "tmux", "bash") {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("tmux: the full screen is not tested on a terminal: install %s", name)
		}
	}
	taskrun, err := exec.LookPath("taskrun")
	if err != nil {
		t.Fatal(err)
	}
	sockets, err := os.MkdirTemp("", "tr") //nolint:usetesting // t.TempDir is too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeSoon(t, sockets) })
	home := filepath.Join(sockets, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	x := &tmux{t: t, dir: t.TempDir(), socket: filepath.Join(sockets, "tmux"), taskrun: taskrun, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8", "TZ=UTC", "PS1=$ ", "SHELL=/bin/sh", "EDITOR=false",
		"TASKRUN_DATA_DIR=" + filepath.Join(home, "data"), "XDG_RUNTIME_DIR=" + sockets,
		"DOCKER_HOST=unix:///nowhere/docker.sock", "CONTAINER_HOST=unix:///nowhere/podman.sock",
	}}
	x.save("web.nomad.hcl", job)
	t.Cleanup(func() {
		_, _ = x.run("kill-server") // it has ended with its shell
		endRuns(taskrun, sockets, x.env)
	})
	cols, rows, _ := strings.Cut(size, "x")
	x.do("-f", os.DevNull, "start-server", ";", "set-option", "-g", "status", "off", ";",
		"new-session", "-d", "-x", cols, "-y", rows, "bash", "--norc", "--noprofile", "-i")
	x.shows(`\A\$`)
	return x
}

// removeSoon removes a directory, in which a run that has been stopped may still write.
func removeSoon(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(scriptTime); ; <-time.After(20 * time.Millisecond) {
		if err := os.RemoveAll(dir); err == nil {
			return
		} else if time.Now().After(deadline) {
			t.Error(err)
			return
		}
	}
}

// run runs a command of tmux, and returns what it says.
func (x *tmux) run(args ...string) (string, error) {
	c := exec.Command("tmux", append([]string{"-S", x.socket}, args...)...)
	c.Dir, c.Env = x.dir, x.env
	out, err := c.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
}

// do runs a command of tmux, which must succeed, and returns what it says.
func (x *tmux) do(args ...string) string {
	x.t.Helper()
	out, err := x.run(args...)
	if err != nil {
		x.t.Fatalf("tmux %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

// save writes a file for the shell.
func (x *tmux) save(name, text string) {
	x.t.Helper()
	if err := os.WriteFile(filepath.Join(x.dir, name), []byte(text), 0o600); err != nil {
		x.t.Fatal(err)
	}
}

// load returns the text of a file of the shell.
func (x *tmux) load(name string) string {
	x.t.Helper()
	text, err := os.ReadFile(filepath.Join(x.dir, name))
	if err != nil {
		x.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// types types a text.
func (x *tmux) types(text string) {
	x.t.Helper()
	x.do("send-keys", "-l", text)
}

// press presses keys: names of keys as tmux knows them.
func (x *tmux) press(keys ...string) {
	x.t.Helper()
	x.do(append([]string{"send-keys"}, keys...)...)
}

// enters types a line.
func (x *tmux) enters(line string) {
	x.t.Helper()
	x.types(line)
	x.press("Enter")
}

// The buttons of a mouse, as terminals report them.
const (
	leftButton = 0
	wheelUp    = 64
	wheelDown  = 65
)

// mouse presses a button of the mouse at a cell; the first one is 1, 1.
func (x *tmux) mouse(button, col, row int) {
	x.t.Helper()
	at := strconv.Itoa(button) + ";" + strconv.Itoa(col) + ";" + strconv.Itoa(row)
	x.types("\x1b[<" + at + "M")
	if button == leftButton {
		x.types("\x1b[<" + at + "m")
	}
}

// resize sets the size of the terminal.
func (x *tmux) resize(size string) {
	x.t.Helper()
	cols, rows, _ := strings.Cut(size, "x")
	x.do("resize-window", "-x", cols, "-y", rows)
}

// until captures the screen until it is as wanted, and returns it.
func (x *tmux) until(wanted func(screen string) bool, options ...string) (screen string, ok bool) {
	x.t.Helper()
	for deadline := time.Now().Add(scriptTime); ; <-time.After(20 * time.Millisecond) {
		screen = x.do(append([]string{"capture-pane", "-p"}, options...)...)
		if wanted(screen) {
			return screen, true
		}
		if time.Now().After(deadline) {
			return screen, false
		}
	}
}

// shows waits until the screen matches, in any of its lines.
func (x *tmux) shows(pattern string) {
	x.t.Helper()
	if screen, ok := x.until(regexp.MustCompile("(?m)" + pattern).MatchString); !ok {
		x.t.Fatalf("the screen does not show %q:\n%s", pattern, screen)
	}
}

// hides waits until the screen does not match.
func (x *tmux) hides(pattern string) {
	x.t.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	if screen, ok := x.until(func(s string) bool { return !re.MatchString(s) }); !ok {
		x.t.Fatalf("the screen still shows %q:\n%s", pattern, screen)
	}
}

// prompts waits for the prompt of the shell on its own screen.
func (x *tmux) prompts() {
	x.t.Helper()
	x.shows(`^\$\s*\z`)
	if on := x.do("display-message", "-p", "#{alternate_on}#{mouse_any_flag}#{cursor_flag}"); on != "001" {
		x.t.Errorf("alternate screen, mouse and cursor are %s, want 001", on)
	}
}

// volatile are texts that differ from run to run.
var volatile = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "ID"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "00:00:00"},
	{regexp.MustCompile(` *\b\d+\.\d%`), "0.0%"},
	{regexp.MustCompile(` *\b\d+\.\d[KMG]iB`), "0.0MiB"},
}

// stable returns a screen without what differs from run to run. Columns stay as wide.
func stable(screen string) string {
	for _, v := range volatile {
		screen = v.re.ReplaceAllStringFunc(screen, func(s string) string {
			return strings.Repeat(" ", max(0, len(s)-len(v.with))) + v.with
		})
	}
	return screen + "\n"
}

// golden waits until the screen is that of a file of testdata/screens.
func (x *tmux) golden(name string) {
	x.t.Helper()
	path := filepath.Join("testdata", "screens", name+".txt")
	if *updatePages {
		<-time.After(time.Second) // the screen may still change
		if err := os.WriteFile(path, []byte(stable(x.do("capture-pane", "-p"))), 0o600); err != nil {
			x.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		x.t.Fatal(err)
	}
	if screen, ok := x.until(func(s string) bool { return stable(s) == string(want) }); !ok {
		x.t.Errorf("%s (-want +got):\n%s", path, cmp.Diff(string(want), stable(screen)))
	}
}

// command runs taskrun outside of the terminal, and returns what it says.
func (x *tmux) command(args ...string) string {
	x.t.Helper()
	c := exec.Command(x.taskrun, args...)
	c.Dir, c.Env = x.dir, x.env
	out, err := c.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		x.t.Fatalf("taskrun %s: %v: %s", strings.Join(args, " "), err, exit.Stderr)
	} else if err != nil {
		x.t.Fatal(err)
	}
	return string(out)
}
