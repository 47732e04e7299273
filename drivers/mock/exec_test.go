package mock_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/drivers"
	"taskrun/drivers/drivertest"
	"taskrun/drivers/mock"
)

// begin starts a task that is destroyed at the end.
func begin(t *testing.T, config string) (*mock.Driver, *drivers.TaskConfig) {
	t.Helper()
	d := mock.New()
	cfg, _ := drivertest.Task(t, d, config)
	if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.DestroyTask(cfg.ID, true) })
	return d, cfg
}

func TestExecTask(t *testing.T) {
	t.Parallel()
	d, cfg := begin(t, `run_for = "1h"`)
	result, err := drivers.Capture(t.Context(), d, cfg.ID, []string{"/bin/check", "a b", `"`})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(result.Output), `Exec("task", ["/bin/check" "a b" "\""])`; got != want || !result.Successful() {
		t.Errorf("it said %s, not %s: %+v", got, want, result.ExitResult)
	}
	result, err = drivers.Capture(t.Context(), d, cfg.ID, []string{strings.Repeat("x", 5000)})
	if err != nil || len(result.Output) != drivers.Captured || !strings.HasSuffix(string(result.Output), `xx"])`) {
		t.Errorf("of much it kept %d bytes, %v", len(result.Output), err)
	}
}

func TestExecCommand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		block          string // exec_command
		command        []string
		stdin          string
		tty            bool
		lasts          time.Duration
		code, signal   int
		err            string
		stdout, stderr string
	}{
		"empty":    {command: []string{"anything"}},
		"result":   {block: "exit_code = 3\nexit_signal = 9\nexit_err_msg = \"it broke\"\nrun_for = \"2s\"", code: 3, signal: 9, err: "it broke", lasts: 2 * time.Second},
		"output":   {block: "stdout_string = \"a\"\nstderr_string = \"b\"", stdout: "a", stderr: "b"},
		"repeated": {block: "stdout_string = \"a\"\nstdout_repeat = 2\nstdout_repeat_duration = \"1s\"", stdout: "aaa", lasts: 2 * time.Second},
		"terminal": {block: "stdout_string = \"a\"\nstderr_string = \"b\"", tty: true, stdout: "ab"},
		"showinput": {
			block: "exit_code = 3\nrun_for = \"1h\"\nstdout_string = \"a\"", command: []string{"showinput"}, stdin: "one\ntwo",
			stdout: "TTY: false\nStdin:\none\ntwo\n",
		},
		"showinput in a terminal": {command: []string{"showinput"}, tty: true, stdout: "TTY: true\nStdin:\n\n"},
		"showinput with more":     {command: []string{"showinput", "please"}, stdin: "one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, cfg := begin(t, "run_for = \"1h\"\nexec_command {\n"+c.block+"\n}")
				var stdout, stderr bytes.Buffer
				start := time.Now()
				result, err := d.ExecTaskStreaming(t.Context(), cfg.ID, &drivers.ExecOptions{
					Command: c.command, Tty: c.tty, Stdin: strings.NewReader(c.stdin), Stdout: &stdout, Stderr: &stderr,
				})
				if err != nil {
					t.Fatal(err)
				}
				if lasted := time.Since(start); lasted != c.lasts {
					t.Errorf("it lasted %v, not %v", lasted, c.lasts)
				}
				if said := ""; result.ExitCode != c.code || result.Signal != c.signal {
					t.Errorf("the result is %+v", result)
				} else if result.Err != nil {
					if said = result.Err.Error(); said != c.err {
						t.Errorf("the error is %q", said)
					}
				} else if c.err != "" {
					t.Error("there is no error")
				}
				if stdout.String() != c.stdout || stderr.String() != c.stderr {
					t.Errorf("it wrote %q and %q", &stdout, &stderr)
				}
			})
		})
	}
}

func TestExecEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*mock.Driver, *drivers.TaskConfig, context.CancelFunc){
		"its client": func(_ *mock.Driver, _ *drivers.TaskConfig, cancel context.CancelFunc) { cancel() },
		"its task": func(d *mock.Driver, cfg *drivers.TaskConfig, _ context.CancelFunc) {
			_ = d.StopTask(context.Background(), cfg.ID, 0, "")
		},
	} {
		for _, command := range []string{"anything", "showinput"} {
			t.Run(name+"/"+command, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					d, cfg := begin(t, "run_for = \"1h\"\nexec_command {\nrun_for = \"1h\"\n}")
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					stdin, keys := io.Pipe()
					defer keys.Close()
					start := time.Now()
					time.AfterFunc(time.Second, func() { end(d, cfg, cancel) })
					result, err := d.ExecTaskStreaming(ctx, cfg.ID, &drivers.ExecOptions{
						Command: []string{command}, Stdin: stdin, Stdout: io.Discard, Stderr: io.Discard,
					})
					if err != nil || result.ExitCode != 137 || result.Signal != 9 || time.Since(start) != time.Second {
						t.Errorf("after %v: %+v, %v", time.Since(start), result, err)
					}
				})
			})
		}
	}
}

func TestExecThatCannotBe(t *testing.T) {
	t.Parallel()
	opts := &drivers.ExecOptions{Command: []string{"x"}, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}
	d, cfg := begin(t, `run_for = "1h"`)
	if _, err := d.ExecTaskStreaming(t.Context(), cfg.ID, opts); err == nil || err.Error() != "no exec command is configured" {
		t.Errorf("without exec_command: %v", err)
	}
	d, cfg = begin(t, "exec_command {\n}")
	wait(t, d, cfg)
	if _, err := d.ExecTaskStreaming(t.Context(), cfg.ID, opts); err == nil || !strings.Contains(err.Error(), "is not running") {
		t.Errorf("in a task that has ended: %v", err)
	}
	if _, err := d.ExecTask(t.Context(), cfg.ID, []string{"x"}); err == nil || !strings.Contains(err.Error(), "is not running") {
		t.Errorf("captured, in a task that has ended: %v", err)
	}
	if _, err := d.ExecTaskStreaming(t.Context(), "nobody", opts); !errors.Is(err, drivers.ErrTaskNotFound) {
		t.Errorf("in an unknown task: %v", err)
	}
}
