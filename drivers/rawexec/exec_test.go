package rawexec_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// said is the output of a command, which tests can wait for.
type said struct {
	mu     sync.Mutex
	text   bytes.Buffer
	change chan struct{}
}

func newSaid() *said { return &said{change: make(chan struct{}, 1)} }

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.change <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *said) await(ctx context.Context, t *testing.T, what string) {
	t.Helper()
	for !strings.Contains(s.String(), what) {
		select {
		case <-s.change:
		case <-ctx.Done():
			t.Fatalf("it never said %q, only %q", what, s)
		}
	}
}

const sleeper = "echo ready; exec sleep 1000"

// exec runs a command in the task and returns its result and output.
func (f *fixture) exec(stdin string, command ...string) (result *drivers.ExitResult, stdout, stderr string) {
	f.Helper()
	var out, err bytes.Buffer
	result, failure := f.driver.ExecTaskStreaming(f.ctx, f.cfg.ID, &drivers.ExecOptions{
		Command: command, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &err,
	})
	if failure != nil {
		f.Fatal(failure)
	}
	return result, out.String(), err.String()
}

func TestExecWithoutTerminal(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell(sleeper)).ready()
	script := filepath.Join(f.cfg.TaskDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho mine\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(f.cfg.TaskDir(), "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"orphan": "#!/no/such/interpreter\n", "garbage": "\x00\x01"} {
		if err := os.WriteFile(filepath.Join(f.cfg.TaskDir(), name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		stdin   string
		command []string
		code    int
		stdout  string
		stderr  string // a part
	}{
		"streams stay apart": {command: []string{"sh", "-c", "echo out; echo err >&2"}, stdout: "out\n", stderr: "err\n"},
		"stdin ends":         {stdin: "one\ntwo\n", command: []string{"cat"}, stdout: "one\ntwo\n"},
		"exit code":          {command: []string{"sh", "-c", "exit 42"}, code: 42},
		"signal":             {command: []string{"sh", "-c", "kill -9 $$"}, code: 137},
		"environment":        {command: []string{"sh", "-c", "echo $NOMAD_TASK_NAME"}, stdout: f.cfg.Env["NOMAD_TASK_NAME"] + "\n"},
		"relative":           {command: []string{"./script"}, stdout: "mine\n"},
		"not there":          {command: []string{"no-such-command"}, code: 127, stderr: `"no-such-command" is not in the task's PATH`},
		"no such file":       {command: []string{"./nothing"}, code: 127, stderr: "there is no command"},
		"not executable":     {command: []string{"./plain"}, code: 126, stderr: "it is not executable"},
		"no interpreter":     {command: []string{"./orphan"}, code: 127, stderr: "no such file or directory (the interpreter or loader that it names does not exist)\n"},
		"no program":         {command: []string{"./garbage"}, code: 126, stderr: "exec format error (a script must begin with #! and its interpreter)\n"},
		"a directory":        {command: []string{"/tmp"}, code: 126, stderr: "it is a directory"},
		"what it leaves behind does not hold the session": {
			command: []string{"sh", "-c", "sleep 1000 & setsid sleep 1000 & echo gone"}, stdout: "gone\n",
		},
		"a reader that stops early": {stdin: strings.Repeat("x", 1<<20), command: []string{"true"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := *f
			f.T = t
			result, stdout, stderr := f.exec(tt.stdin, tt.command...)
			if result.ExitCode != tt.code || stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("code %d, stdout %q, stderr %q", result.ExitCode, stdout, stderr)
			}
		})
	}
}

func TestExecInATerminal(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell(sleeper)).ready()
	stdin, keys := io.Pipe()
	sizes := make(chan api.TerminalSize, 1)
	screen := newSaid()
	done := make(chan *drivers.ExitResult, 1)
	go func() {
		result, err := f.driver.ExecTaskStreaming(f.ctx, f.cfg.ID, &drivers.ExecOptions{
			Command: []string{"sh"}, Tty: true, Stdin: stdin, Stdout: screen, Resize: sizes,
		})
		if err != nil {
			t.Error(err)
		}
		done <- result
	}()
	sizes <- api.TerminalSize{Height: 33, Width: 99}
	typed := func(keysTyped, answer string) {
		t.Helper()
		if _, err := io.WriteString(keys, keysTyped); err != nil {
			t.Fatal(err)
		}
		screen.await(f.ctx, t, answer)
	}
	typed("test -t 0 && test -t 1 && echo is a t''ty\n", "is a tty")
	typed("until [ \"$(stty size)\" = '33 99' ]; do :; done; echo the size is ri''ght\n", "the size is right")
	typed("echo err''or >&2\n", "error")
	// A key that sends a signal.
	typed("trap 'echo interr''upted' INT; echo wait''ing; read x\n", "waiting")
	typed("\x03", "interrupted")
	typed("\nexit 7\n", "") // the first line may be for read, which continues in some shells
	if result := <-done; result == nil || result.ExitCode != 7 {
		t.Errorf("ended with %+v", result)
	}
	_ = keys.Close()
}

// A client says what kind of terminal it has; otherwise the task's own is used.
func TestKindOfATerminal(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell(sleeper))
	f.cfg.Env["TERM"] = "of-the-task"
	f.ready()
	for term, want := range map[string]string{"": "[of-the-task]", "of-the-client": "[of-the-client]"} {
		screen := newSaid()
		_, err := f.driver.ExecTaskStreaming(f.ctx, f.cfg.ID, &drivers.ExecOptions{
			Command: []string{"sh", "-c", "env | grep -c TERM=; echo [$TERM]"}, Tty: true, Term: term, Stdin: strings.NewReader(""), Stdout: screen,
		})
		if got := strings.Fields(screen.String()); err != nil || len(got) != 2 || got[0] != "1" || got[1] != want {
			t.Errorf("%q: %q, %v", term, got, err)
		}
	}
}

func TestTheEndOfTheInputEndsATerminalsShell(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell(sleeper)).ready()
	screen := newSaid()
	result, err := f.driver.ExecTaskStreaming(f.ctx, f.cfg.ID, &drivers.ExecOptions{
		Command: []string{"sh"}, Tty: true, Stdin: strings.NewReader("echo h''i\n"), Stdout: screen,
	})
	if err != nil || result.ExitCode != 0 || !strings.Contains(screen.String(), "hi") {
		t.Errorf("%v %+v %q", err, result, screen)
	}
}

func TestExecEndsWith(t *testing.T) {
	t.Parallel()
	for _, tty := range []bool{false, true} {
		for name, end := range map[string]struct {
			how  func(*fixture, context.CancelFunc)
			says string
		}{
			"its client": {func(_ *fixture, cancel context.CancelFunc) { cancel() }, ""},
			"its task": {func(f *fixture, _ context.CancelFunc) {
				if err := f.driver.StopTask(f.ctx, f.cfg.ID, 0, ""); err != nil {
					f.Error(err)
				}
			}, `task "task" has ended, and the command with it`},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, shell(sleeper)).ready()
				ctx, cancel := context.WithCancel(f.ctx)
				defer cancel()
				stdin, keys := io.Pipe()
				defer keys.Close()
				screen := newSaid()
				type ending struct {
					*drivers.ExitResult
					err error
				}
				done := make(chan ending, 1)
				go func() {
					result, err := f.driver.ExecTaskStreaming(ctx, f.cfg.ID, &drivers.ExecOptions{
						Command: []string{"sh", "-c", "trap '' HUP INT TERM; setsid sleep 1000 & echo beg''un; sleep 1000"},
						Tty:     tty, Stdin: stdin, Stdout: screen, Stderr: io.Discard,
					})
					done <- ending{result, err}
				}()
				screen.await(f.ctx, t, "begun")
				end.how(f, cancel)
				switch got := <-done; {
				case end.says == "" && (got.err != nil || got.Signal != 9), end.says != "" && (got.err == nil || got.err.Error() != end.says):
					t.Errorf("ended with %+v", got)
				}
				// The end of the fixture checks that nothing is left.
			})
		}
	}
}

func TestExecInNoTask(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell("exit 0")).start()
	f.result()
	opts := &drivers.ExecOptions{Command: []string{"true"}, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}
	if _, err := f.driver.ExecTaskStreaming(f.ctx, f.cfg.ID, opts); err == nil || !strings.Contains(err.Error(), "is not running") {
		t.Errorf("in an ended task: %v", err)
	}
	if _, err := f.driver.ExecTaskStreaming(f.ctx, "nobody", opts); !errors.Is(err, drivers.ErrTaskNotFound) {
		t.Errorf("in an unknown task: %v", err)
	}
}

// Input that a command does not read does not keep anything alive; TestMain
// checks that.
func TestUnreadInput(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell(sleeper)).ready()
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	typed := 0
	flood := readerFunc(func(p []byte) (int, error) {
		if typed += len(p); typed > 1<<20 {
			cancel()
		}
		for i := range p {
			p[i] = '\n'
		}
		return len(p), nil
	})
	time.AfterFunc(time.Second, cancel) // by then the terminal is full
	result, err := f.driver.ExecTaskStreaming(ctx, f.cfg.ID, &drivers.ExecOptions{
		Command: []string{"sleep", "1000"}, Tty: true, Stdin: flood, Stdout: io.Discard,
	})
	if err != nil || result.Signal != 9 {
		t.Errorf("ended with %+v, %v", result, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// slow delays the first write of output.
type slow struct {
	got   int // bytes
	pause time.Duration
}

func (s *slow) Write(p []byte) (int, error) {
	if s.got == 0 {
		<-time.After(s.pause)
	}
	s.got += len(p)
	return len(p), nil
}

// TestExecSlowReader reads most of a command's output long after the command
// has ended.
func TestExecSlowReader(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell(sleeper)).ready()
	stdout := &slow{pause: time.Second}
	result, err := f.driver.ExecTaskStreaming(f.ctx, f.cfg.ID, &drivers.ExecOptions{
		Command: []string{"head", "-c", "90000", "/dev/zero"}, Stdin: strings.NewReader(""), Stdout: stdout, Stderr: io.Discard,
	})
	if err != nil || result.ExitCode != 0 || stdout.got != 90_000 {
		t.Errorf("%d bytes, %+v, %v", stdout.got, result, err)
	}
}
