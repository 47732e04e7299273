package rawexec_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"taskrun/drivers"
)

// Both streams are captured in the order of the writes.
func TestCapture(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell(sleeper)).ready()
	for name, tt := range map[string]struct {
		script string
		code   int
		signal int
		stdout string
	}{
		"nothing":      {script: "exit 0"},
		"both streams": {script: "echo one; echo two >&2; echo three; echo four >&2", stdout: "one\ntwo\nthree\nfour\n"},
		"no input":     {script: "cat; exit 3", code: 3},
		"signal":       {script: "echo x; kill -9 $$", code: 137, signal: 9, stdout: "x\n"},
		"the last 4 KiB": {
			script: "echo first; head -c 5000 /dev/zero | tr '\\0' x; echo last", stdout: strings.Repeat("x", 4096-5) + "last\n",
		},
		"much output": {script: "head -c 3000000 /dev/zero | tr '\\0' y", stdout: strings.Repeat("y", 4096)},
		"environment": {script: "echo $NOMAD_TASK_NAME; pwd", stdout: "task\n" + realPath(t, f.cfg.TaskDir()) + "\n"},
		"left behind": {script: "sleep 1000 & setsid sleep 1000 & echo here", stdout: "here\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := drivers.Capture(f.ctx, f.driver, f.cfg.ID, []string{"sh", "-c", tt.script})
			if err != nil {
				t.Fatal(err)
			}
			if got.ExitCode != tt.code || got.Signal != tt.signal || string(got.Output) != tt.stdout {
				t.Errorf("code %d, signal %d, stdout %q", got.ExitCode, got.Signal, got.Output)
			}
		})
	}
}

// When the context ends, the command is killed with its descendants.
func TestCaptureCancelled(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell(sleeper)).ready()
	fifo := f.cfg.TaskDir() + "/fifo"
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(f.ctx)
	go func() { // once the command has started
		if file, err := os.Open(fifo); err == nil {
			file.Close()
		}
		cancel()
	}()
	got, err := drivers.Capture(ctx, f.driver, f.cfg.ID, []string{"sh", "-c", "trap '' TERM; setsid sleep 1000 & echo partial; : > fifo; sleep 1000"})
	if err != nil || got.Successful() || got.Signal != 9 || string(got.Output) != "partial\n" {
		t.Errorf("it ended with %+v, %v", got, err)
	}
}

// Processes started by a command are killed with it, even in a session of their
// own; those of the task are not.
func TestLeftoversOfACommand(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell("(setsid sleep 1000 & echo daemon $!); echo ready; exec sleep 1000")).ready()
	daemon := number(t, f.output.Stdout(), "daemon ")
	_, stdout, _ := f.exec("", "sh", "-c", "(setsid sleep 1000 >/dev/null 2>&1 & echo left $!); sleep 1000 & echo left $!")
	left := strings.Fields(stdout)
	if len(left) != 4 {
		t.Fatalf("it wrote %q", stdout)
	}
	for _, pid := range []string{left[1], left[3]} {
		if alive(number(t, pid, "")) {
			t.Errorf("process %s, which the command left behind, lives", pid)
		}
	}
	if !alive(daemon) {
		t.Error("the daemon of the task is dead")
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// number returns the number that follows a word.
func number(t *testing.T, text, word string) int {
	t.Helper()
	_, rest, _ := strings.Cut(text, word)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		t.Fatalf("%q has no %q", text, word)
	}
	n, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A command has the environment of its task, without denied variables.
func TestExecEnvironment(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "denied_envvars = [\"HIDDEN\"]\n"+shell(sleeper))
	f.cfg.Env["HIDDEN"], f.cfg.Env["SECRET_X"], f.cfg.Env["SHOWN"] = "x", "x", "y"
	f.ready()
	_, stdout, _ := f.exec("", "env")
	if strings.Contains(stdout, "HIDDEN") || strings.Contains(stdout, "SECRET_X") || !strings.Contains(stdout, "SHOWN=y\n") {
		t.Errorf("the environment is %q", stdout)
	}
}

// A command runs as the task's user, with that user's home.
func TestExecUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a task as another user")
	}
	f := newFixture(t, "work_dir = \"/\"\n"+shell(sleeper))
	f.cfg.User = "nobody"
	f.ready()
	_, want, _ := f.exec("", "sh", "-c", "getent passwd nobody | cut -d: -f1,6")
	_, got, _ := f.exec("", "sh", "-c", "echo $(id -un):$HOME; test $USER = nobody -a $LOGNAME = nobody || echo $USER $LOGNAME")
	if got != want || want == "" {
		t.Errorf("it is %q, not %q", got, want)
	}
	terminal := newSaid()
	result, err := f.driver.ExecTaskStreaming(f.ctx, f.cfg.ID, &drivers.ExecOptions{
		Command: []string{"sh", "-c", "id -un; exec 3<>/dev/tty"}, Tty: true, Stdin: strings.NewReader(""), Stdout: terminal, Stderr: io.Discard,
	})
	if err != nil || result.ExitCode != 0 || !strings.Contains(terminal.String(), "nobody") {
		t.Errorf("in a terminal it is %+v, %v: %q", result, err, terminal)
	}
}

func realPath(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
