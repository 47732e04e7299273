package drivers_test

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"taskrun/drivers"
)

// Signals have Nomad's names; the error for a similar name suggests the right one.
func TestParseSignal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want syscall.Signal
		err  string
	}{
		"":         {syscall.SIGINT, ""},
		"SIGTERM":  {syscall.SIGTERM, ""},
		"SIGNULL":  {0, ""},
		"sigterm":  {0, `unknown signal "sigterm": write "SIGTERM"`},
		"TERM":     {0, `unknown signal "TERM": write "SIGTERM"`},
		"hup":      {0, `unknown signal "hup": write "SIGHUP"`},
		"SIGNONE":  {0, `unknown signal "SIGNONE"`},
		"SIGCHLD":  {0, `unknown signal "SIGCHLD"`},
		"SIGTERM ": {0, `unknown signal "SIGTERM "`},
	} {
		got, err := drivers.ParseSignal(name)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	names := drivers.SignalNames()
	if !slices.IsSorted(names) || len(names) != 28 || !slices.Contains(names, "SIGUSR1") {
		t.Errorf("the names are %q", names)
	}
	for _, name := range names {
		if _, err := drivers.ParseSignal(name); err != nil {
			t.Error(err)
		}
	}
}

// The limit is the higher one of the two numbers, or none.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	for r, want := range map[[2]int]int64{{256, 0}: 256 << 20, {256, 512}: 512 << 20, {256, 100}: 256 << 20, {256, -1}: 0, {0, 0}: 0} {
		if got := (drivers.Resources{MemoryMB: r[0], MemoryMaxMB: r[1]}).MemoryLimitBytes(); got != want {
			t.Errorf("memory %d, memory_max %d: %d, want %d", r[0], r[1], got, want)
		}
	}
}

func TestSuccessful(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		result drivers.ExitResult
		want   bool
	}{
		{drivers.ExitResult{}, true},
		{drivers.ExitResult{OOMKilled: true}, true}, // one of its other processes
		{drivers.ExitResult{ExitCode: 1}, false},
		{drivers.ExitResult{Signal: 9}, false},
		{drivers.ExitResult{Err: errors.New("no")}, false},
	} {
		if got := c.result.Successful(); got != c.want {
			t.Errorf("%+v: %t", c.result, got)
		}
	}
}

// The handle of a task that has just started is that of a running one.
func TestHandle(t *testing.T) {
	t.Parallel()
	cfg := &drivers.TaskConfig{AllocDir: "/alloc", Name: "t"}
	h := cfg.Handle([]byte("state"))
	if h.Version != 1 || h.Config != cfg || h.State != drivers.TaskStateRunning || string(h.DriverState) != "state" {
		t.Errorf("%+v", h)
	}
	if dir := cfg.TaskDir(); dir != "/alloc/t" {
		t.Errorf("its directory is %q", dir)
	}
}

// A driver whose health never changes tells it once, until the context ends.
func TestSteady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for want, f := range map[string]drivers.Fingerprint{"Healthy": drivers.Healthy("x"), "disabled": drivers.Disabled()} {
			ctx, cancel := context.WithCancel(t.Context())
			ch, err := drivers.Steady(ctx, f)
			if err != nil {
				t.Fatal(err)
			}
			if got := <-ch; got.HealthDescription != want {
				t.Errorf("%+v, want %s", got, want)
			}
			synctest.Wait()
			select {
			case again, ok := <-ch:
				t.Errorf("again %+v, %t", again, ok)
			default:
			}
			cancel()
			if again, ok := <-ch; ok {
				t.Errorf("at the end %+v", again)
			}
		}
	})
	healthy := drivers.Fingerprint{Health: drivers.HealthHealthy, HealthDescription: "Healthy", Attributes: map[string]string{"driver.x": "1"}}
	if diff := cmp.Diff(healthy, drivers.Healthy("x")); diff != "" {
		t.Error(diff)
	}
	if f := drivers.Disabled(); f.Health != drivers.HealthUndetected || !f.Disabled || len(f.Attributes) > 0 {
		t.Errorf("%+v", f)
	}
}

// plain is a driver that runs no commands.
type plain struct{ drivers.Driver }

// streams is one that does.
type streams struct {
	drivers.Driver
	err error
}

func (s streams) ExecTaskStreaming(_ context.Context, id string, opts *drivers.ExecOptions) (*drivers.ExitResult, error) {
	return &drivers.ExitResult{ExitCode: len(id) + len(opts.Command)}, s.err
}

// captures is one that captures the output itself.
type captures struct{ drivers.Driver }

func (captures) ExecTask(_ context.Context, id string, cmd []string) (*drivers.ExecTaskResult, error) {
	return &drivers.ExecTaskResult{Output: []byte(id + cmd[0])}, nil
}

// A command needs a driver that runs some, and is an error if its time ends.
func TestExecTask(t *testing.T) {
	t.Parallel()
	broken, late := errors.New("broken"), errors.New("late")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	for name, c := range map[string]struct {
		ctx    context.Context
		driver drivers.Driver
		cmd    []string
		err    string
	}{
		"it runs":      {t.Context(), streams{}, []string{"x"}, ""},
		"no command":   {t.Context(), streams{}, nil, "command is not present"},
		"no commands":  {t.Context(), plain{}, []string{"x"}, "task driver does not support exec"},
		"it fails":     {t.Context(), streams{err: broken}, []string{"x"}, "broken"},
		"it is late":   {ended, streams{}, []string{"x"}, "late"},
		"late and bad": {ended, streams{err: broken}, []string{"x"}, "broken"},
	} {
		result, err := drivers.ExecTask(c.ctx, c.driver, "id", &drivers.ExecOptions{Command: c.cmd})
		if (err == nil) != (c.err == "") || err != nil && (err.Error() != c.err || result != nil) || err == nil && result.ExitCode != 3 {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
	for want, d := range map[bool][]drivers.Driver{true: {streams{}, captures{}}, false: {plain{}}} {
		for _, d := range d {
			if got := drivers.CanCapture(d); got != want {
				t.Errorf("%T captures output: %t", d, got)
			}
		}
	}
	if r, err := drivers.Capture(t.Context(), captures{}, "id", []string{"x"}); err != nil || string(r.Output) != "idx" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := drivers.Capture(t.Context(), plain{}, "id", []string{"x"}); !errors.Is(err, drivers.ErrExecNotSupported) {
		t.Error(err)
	}
}

func TestNoCommandError(t *testing.T) {
	t.Parallel()
	cause := errors.New("no such file")
	err := error(&drivers.NoCommandError{Err: cause})
	if err.Error() != "no such file" || !errors.Is(err, cause) {
		t.Error(err)
	}
}
