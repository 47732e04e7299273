package docker_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/docker"
	"taskrun/drivers/docker/dockertest"
	"taskrun/drivers/drivertest"
)

// start starts a task with a config block. The end of the test destroys it.
func start(t *testing.T, config string, change ...func(*drivers.TaskConfig)) (*docker.Driver, *drivers.TaskConfig, *drivertest.Output) {
	t.Helper()
	dockertest.Need(t)
	d := docker.New(docker.Config{})
	cfg, output := drivertest.Task(t, d, config)
	for _, f := range change {
		f(cfg)
	}
	run(t, d, cfg)
	return d, cfg, output
}

// startWith starts a task in a driver.
func startWith(t *testing.T, d *docker.Driver, config string) *drivers.TaskConfig {
	t.Helper()
	cfg, _ := drivertest.Task(t, d, config)
	run(t, d, cfg)
	return cfg
}

func run(t *testing.T, d *docker.Driver, cfg *drivers.TaskConfig) {
	t.Helper()
	t.Cleanup(func() {
		if n, err := d.Shutdown(context.Background()); n != 0 || err != nil {
			t.Errorf("%d containers were left, %v", n, err)
		}
	})
	if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.DestroyTask(cfg.ID, true); err != nil && !errors.Is(err, drivers.ErrTaskNotFound) {
			t.Error(err)
		}
	})
}

const forever = "trap 'exit 0' TERM; echo ready; sleep 1000 & wait $!"

// startForever starts a task that runs until it is stopped.
func startForever(t *testing.T, more string) (*docker.Driver, *drivers.TaskConfig) {
	t.Helper()
	d, cfg, output := start(t, dockertest.Shell(forever)+more)
	if err := output.Await(t.Context(), "ready"); err != nil {
		t.Fatal(err)
	}
	return d, cfg
}

// buffer is a writer that signals when text arrives.
type buffer struct {
	mu   sync.Mutex
	text strings.Builder
	news chan struct{}
}

func newBuffer() *buffer { return &buffer{news: make(chan struct{}, 1)} }

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.news <- struct{}{}:
	default:
	}
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *buffer) await(t *testing.T, text string) {
	t.Helper()
	b.awaitFunc(t, text, func(s string) bool { return strings.Contains(s, text) })
}

func (b *buffer) awaitFunc(t *testing.T, what string, holds func(string) bool) {
	t.Helper()
	timeout := time.After(time.Minute)
	for !holds(b.String()) {
		select {
		case <-b.news:
		case <-timeout:
			t.Fatalf("there is no %s in %q", what, b.String())
		}
	}
}

func TestExecStreams(t *testing.T) {
	t.Parallel()
	d, cfg := startForever(t, "work_dir = \"/tmp\"\n")
	for _, c := range []struct {
		name, script, stdin string
		code                int
		stdout, stderr      string
	}{
		{"streams and code", "echo out; echo err >&2; exit 43", "", 43, "out\n", "err\n"},
		{"input", "cat", "in\n", 0, "in\n", ""},
		{"the task's environment and directory", "echo $NOMAD_TASK_NAME; pwd", "", 0, "task\n/tmp\n", ""},
		{"no terminal", "tty", "", 1, "not a tty\n", ""},
		{"killed", "kill -9 $$", "", 137, "", ""},
		{"a child that stays behind", "echo done; sleep 1000 &", "", 0, "done\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr := newBuffer(), newBuffer()
			result, err := d.ExecTaskStreaming(t.Context(), cfg.ID, &drivers.ExecOptions{
				Command: []string{"sh", "-c", c.script}, Stdin: strings.NewReader(c.stdin), Stdout: stdout, Stderr: stderr,
			})
			if err != nil {
				t.Fatal(err)
			}
			if result.ExitCode != c.code || stdout.String() != c.stdout || stderr.String() != c.stderr {
				t.Errorf("code %d, stdout %q, stderr %q", result.ExitCode, stdout.String(), stderr.String())
			}
		})
	}
}

// TestExecOfAMissingCommand ends with 127 for a command that does not exist, and
// with 126 for one that cannot be executed, whatever version the engine has.
func TestExecOfAMissingCommand(t *testing.T) {
	t.Parallel()
	d, cfg := startForever(t, "")
	for command, want := range map[string]int{"nothing": 127, "/not/there": 127, "/etc/passwd": 126, "/etc": 126} {
		stdout, stderr := newBuffer(), newBuffer()
		result, err := d.ExecTaskStreaming(t.Context(), cfg.ID, &drivers.ExecOptions{
			Command: []string{command}, Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr,
		})
		if said := stdout.String() + stderr.String(); err != nil || result.ExitCode != want || !strings.Contains(said, command) {
			t.Errorf("%s: %+v, %v, output %q", command, result, err, said)
		}
	}
}

func TestExecTerminal(t *testing.T) {
	t.Parallel()
	d, cfg := startForever(t, "")
	sizes := make(chan api.TerminalSize, 1)
	sizes <- api.TerminalSize{Height: 31, Width: 97}
	stdin, keys := io.Pipe()
	stdout := newBuffer()
	ended := make(chan *drivers.ExitResult, 1)
	go func() {
		result, err := d.ExecTaskStreaming(t.Context(), cfg.ID, &drivers.ExecOptions{
			Command: []string{"sh", "-c", `while read -r line; do echo "size $(stty size) $line"; done; echo "a $TERM"; exit 5`},
			Tty:     true, Term: "vt100", Stdin: stdin, Stdout: stdout, Resize: sizes,
		})
		if err != nil {
			t.Error(err)
		}
		ended <- result
	}()
	lines := 0
	enter := func(text string) { // returns after the response
		if _, err := io.WriteString(keys, text+"\n"); err != nil {
			t.Error(err)
		}
		lines++
		stdout.awaitFunc(t, "an answer", func(s string) bool { return strings.Count(s, "size") >= lines })
	}
	enter("a") // the input waits for the size
	if !strings.Contains(stdout.String(), "size 31 97 a\r\n") {
		t.Errorf("the first line was read with another size: %q", stdout.String())
	}
	sizes <- api.TerminalSize{Height: 40, Width: 120}
	for !strings.Contains(stdout.String(), "size 40 120 b\r\n") {
		enter("b")
	}
	keys.Close() // Ctrl-D
	if result := <-ended; result == nil || result.ExitCode != 5 || !strings.Contains(stdout.String(), "a vt100") {
		t.Errorf("the result is %+v, it wrote %q", result, stdout.String())
	}
}

// TestExecEndsWithItsClient looks for the processes of a command whose client is
// gone.
func TestExecEndsWithItsClient(t *testing.T) {
	t.Parallel()
	for name, tty := range map[string]bool{"terminal": true, "pipes": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, cfg := startForever(t, "")
			ctx, leave := context.WithCancel(t.Context())
			stdout := newBuffer()
			ended := make(chan error, 1)
			stdin, keys := io.Pipe()
			t.Cleanup(func() { keys.Close() })
			opts := &drivers.ExecOptions{
				Command: []string{"sh", "-c", "setsid sleep 4711 & echo started; exec sleep 4712"},
				Tty:     tty, Stdin: stdin, Stdout: stdout, Stderr: stdout,
			}
			if tty {
				opts.Resize = make(chan api.TerminalSize)
			}
			go func() {
				_, err := d.ExecTaskStreaming(ctx, cfg.ID, opts)
				ended <- err
			}()
			stdout.await(t, "started")
			leave()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			captured, err := drivers.Capture(t.Context(), d, cfg.ID, []string{"ps", "-o", "args"})
			if err != nil || !strings.Contains(string(captured.Output), "sleep 1000") {
				t.Fatalf("ps: %v, %s", err, captured.Output)
			}
			if strings.Contains(string(captured.Output), "471") {
				t.Errorf("it goes on:\n%s", captured.Output)
			}
		})
	}
}

func TestExecEndsWithItsTask(t *testing.T) {
	t.Parallel()
	d, cfg := startForever(t, "")
	stdout := newBuffer()
	ended := make(chan *drivers.ExitResult, 1)
	stdin, keys := io.Pipe()
	t.Cleanup(func() { keys.Close() })
	go func() {
		result, err := d.ExecTaskStreaming(t.Context(), cfg.ID, &drivers.ExecOptions{
			Command: []string{"sh", "-c", "echo started; sleep 1000"}, Stdin: stdin, Stdout: stdout, Stderr: stdout,
		})
		if err != nil {
			t.Error(err)
		}
		ended <- result
	}()
	stdout.await(t, "started")
	if err := d.StopTask(t.Context(), cfg.ID, 5*time.Second, ""); err != nil {
		t.Fatal(err)
	}
	if result := <-ended; result == nil || result.ExitCode != 137 {
		t.Errorf("the result is %+v", result)
	}
}
