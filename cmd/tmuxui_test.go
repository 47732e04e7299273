package cmd

import (
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// tmuxJob has tasks whose output ends, so that its screens are always the same.
const tmuxJob = `
job "web" {
  type = "batch"
  group "app" {
    task "server" {
      driver = "raw_exec"
      config {
        command = "sh"
        args    = ["-c", "for i in $(seq 60); do echo request $i; done; exec sleep 871030"]
      }
      action "long" {
        command = "sh"
        args    = ["-c", "echo it takes long; exec sleep 871031"]
      }
    }
    task "proxy" {
      driver = "raw_exec"
      config {
        command = "sh"
        args    = ["-c", "echo to the server; exec sleep 871032"]
      }
    }
  }
  group "db" {
    task "postgres" {
      driver = "raw_exec"
      config {
        command = "sleep"
        args    = ["871033"]
      }
    }
  }
}
`

// measured matches a row of the tree with the resource usage of a task.
const measured = ` +running .*%.*iB`

// newTmuxUI shows a run in the background on the full screen.
func newTmuxUI(t *testing.T, size string, programs ...string) *tmux {
	t.Helper()
	x := newTmux(t, size, tmuxJob, programs...)
	x.command("up", "--detach", "web.nomad.hcl")
	x.enters("taskrun ui web")
	x.shows("server" + measured)
	return x
}

// The keys move, fold, filter and change panes; the screen has any size.
func TestTmuxKeysAndSizes(t *testing.T) {
	t.Parallel()
	x := newTmuxUI(t, "80x24")
	x.shows("^request 60$")
	x.shows("postgres" + measured)
	x.golden("start_80x24")
	x.types("j")
	x.shows("^to the server$")
	x.press("Up")
	x.shows("^request 60$")
	x.types("3kk") // the output of several tasks has no certain order
	x.press("Left")
	x.shows("▸ app")
	x.golden("folded_80x24")
	x.types("l")
	x.shows("▾ app")
	x.types("/post")
	x.hides("proxy")
	x.press("Enter")
	x.golden("filtered_80x24")
	x.press("Escape")
	x.shows("proxy" + measured)
	x.types("Gk2")
	x.shows("Started")
	x.types("?")
	x.shows("suspend taskrun|move the cursor")
	x.golden("help_80x24")
	x.types("?1gjjj")
	x.shows("^request 60$")

	x.resize("20x5")
	x.shows(`\A taskrun  web`)
	x.hides("request")
	x.golden("start_20x5")
	x.resize("160x50")
	x.shows("server" + measured)
	x.shows("postgres" + measured)
	x.golden("start_160x50")
	x.types("2")
	x.shows("Started")
	x.golden("events_160x50")
	x.types("5")
	x.shows("Waterfall")
	x.hides("Started")
	x.types("?")
	x.shows("suspend taskrun")
	x.golden("help_160x50")
	x.types("?q")
	x.prompts()
}

// The mouse selects rows and panes, and scrolls.
func TestTmuxMouse(t *testing.T) {
	t.Parallel()
	x := newTmuxUI(t, "80x24")
	row := func(text string) (row, col int) {
		t.Helper()
		for i, line := range strings.Split(x.do("capture-pane", "-p"), "\n") {
			if before, _, ok := strings.Cut(line, text); ok {
				return i + 1, len([]rune(before)) + 2
			}
		}
		t.Fatalf("there is no %q", text)
		return 0, 0
	}
	click := func(text string) {
		t.Helper()
		at, col := row(text)
		x.mouse(leftButton, col, at)
	}
	click("proxy ")
	x.shows("^to the server$")
	click("2 Events")
	x.shows("Started")
	click("1 Output")
	click("server ")
	x.shows("^request 60$")
	at, col := row("request 60")
	x.mouse(wheelUp, col, at)
	x.hides("^request 60$")
	for range 3 {
		x.mouse(wheelDown, col, at)
	}
	x.shows("^request 60$")
	x.types("m")
	x.shows("the terminal has the mouse")
	if on := x.do("display-message", "-p", "#{mouse_any_flag}"); on != "0" {
		t.Errorf("taskrun still has the mouse")
	}
	x.types("q")
	x.prompts()
}

// Ctrl-Z stops the screen and fg continues it, like any program of a shell. Leaving
// restores the terminal.
func TestTmuxSuspend(t *testing.T) {
	t.Parallel()
	x := newTmux(t, "80x24", tmuxJob)
	x.command("up", "--detach", "web.nomad.hcl")
	x.enters("stty -g >before; clear")
	x.prompts()
	x.enters("taskrun ui web")
	x.shows("postgres" + measured)
	x.press("C-z")
	x.shows(`Stopped +taskrun ui web`)
	x.prompts()
	x.enters("stty -g >stopped; clear; jobs")
	x.shows(`\A\[1\].*Stopped`)
	x.prompts()
	x.resize("100x30")
	x.enters("fg")
	x.shows("postgres" + measured)
	x.shows(`q leave.*\z`)
	x.types("q")
	x.prompts()
	x.enters("stty -g >after; echo well $((1+1))")
	x.shows("^well 2$")
	if before := x.load("before"); x.load("stopped") != before || x.load("after") != before {
		t.Errorf("the terminal was %s; while stopped %s, afterwards %s", before, x.load("stopped"), x.load("after"))
	}
}

// A shell in a task has the whole terminal: vim works there, and the screen returns.
func TestTmuxVim(t *testing.T) {
	t.Parallel()
	x := newTmuxUI(t, "80x24", "vim")
	x.shows("postgres" + measured)
	x.types("e")
	x.shows(`[$#]\s*\z`)
	x.enters("PS1='task> '; clear; stty size")
	x.shows(`\A24 80\ntask>`)
	x.enters("vim -u NONE -N note.txt")
	x.shows("note.txt. ?.*New")
	x.types("ione line")
	x.press("Enter")
	x.types("another ünïcode line")
	x.press("Escape")
	x.shows("^another ünïcode line$")
	x.resize("100x30")
	x.shows(`\A(.*\n){25,}~\n`)
	x.enters(":wq")
	x.shows("task>")
	x.enters("clear; cat note.txt; stty size")
	x.shows(`\Aone line\nanother ünïcode line\n30 100\ntask>`)
	x.enters("exit")
	x.shows("postgres" + measured)
	x.resize("80x24")
	x.golden("start_80x24")
	x.types("q")
	x.prompts()
}

// Ctrl-C interrupts an action, not the screen.
func TestTmuxInterruptedAction(t *testing.T) {
	t.Parallel()
	x := newTmuxUI(t, "80x24")
	x.types("a")
	x.shows("action of .*long")
	x.press("Enter")
	x.shows("^it takes long$")
	x.press("C-c")
	x.shows("press Enter")
	x.press("Enter")
	x.shows("postgres" + measured)
	x.golden("start_80x24")
	x.types("q")
	x.prompts()
}

// With NO_COLOR, the screen has none.
func TestTmuxNoColor(t *testing.T) {
	t.Parallel()
	x := newTmuxUI(t, "80x24")
	colors := regexp.MustCompile(`\x1b\[[0-9;]*\b(3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]`)
	if screen, ok := x.until(colors.MatchString, "-e"); !ok {
		t.Errorf("no colors:\n%q", screen)
	}
	x.types("q")
	x.prompts()
	x.enters("clear; NO_COLOR=1 taskrun ui web")
	x.shows("server" + measured)
	if screen := x.do("capture-pane", "-p", "-e"); colors.MatchString(screen) {
		t.Errorf("colors:\n%q", screen)
	}
	x.types("q")
	x.prompts()
}

// A screen that is killed harms neither the run nor, after a reset, the terminal.
func TestTmuxKilled(t *testing.T) {
	t.Parallel()
	x := newTmux(t, "80x24", tmuxJob)
	x.command("up", "--detach", "web.nomad.hcl")
	x.enters("sh -c 'echo $$ >pid; exec taskrun ui web'")
	x.shows("server" + measured)
	pid, err := strconv.Atoi(x.load("pid"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	x.shows("Killed")
	x.enters("reset")
	x.enters("clear; echo well $((1+1)); taskrun ps")
	x.shows("^well 2$")
	x.shows("server +running")
	if on := x.do("display-message", "-p", "#{mouse_any_flag}#{cursor_flag}"); on != "01" {
		t.Errorf("mouse and cursor are %s, want 01", on)
	}
	x.enters("clear; taskrun ui web")
	x.shows("postgres" + measured)
	x.types("q")
	x.prompts()
}

// "up --ui" asks what to do when the user leaves. Errors in the job file stay on the
// screen until they are fixed.
func TestTmuxUp(t *testing.T) {
	t.Parallel()
	x := newTmux(t, "80x24", tmuxJob)
	x.enters("taskrun up --ui --watch web.nomad.hcl")
	x.shows("postgres" + measured)
	x.shows("^request 60$")
	x.golden("start_80x24")
	x.types("q")
	x.shows("^leave")
	x.golden("leave_80x24")
	x.press("Escape")
	x.hides("^leave")
	x.save("web.nomad.hcl", strings.Replace(tmuxJob, `group "db"`, `groop "db"`, 1))
	x.shows("the run continues as it was")
	x.types("jk")
	x.golden("errors_80x24")
	x.resize("20x5")
	x.shows("^1 error in web.nom")
	x.resize("160x50")
	x.shows("server" + measured)
	x.shows("postgres" + measured)
	x.golden("errors_160x50")
	x.resize("80x24")
	x.save("web.nomad.hcl", tmuxJob)
	x.shows("errors are fixed; no task is affected")
	x.types("jk")
	x.golden("start_80x24")
	x.types("qs")
	x.shows("the run has ended: ")
	x.prompts()
	if left := x.command("ps"); strings.Contains(left, "server") {
		t.Errorf("the run is not stopped:\n%s", left)
	}
}
