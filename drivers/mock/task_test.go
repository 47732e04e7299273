package mock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/drivers"
	"taskrun/drivers/drivertest"
	"taskrun/drivers/mock"
)

// A task that gets no orders follows its script.
func TestScript(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config         string
		lasts          time.Duration
		result         drivers.ExitResult
		stdout, stderr string
	}{
		"empty":          {},
		"run_for":        {config: `run_for = "1s"`, lasts: time.Second},
		"exit code":      {config: `exit_code = 42`, result: drivers.ExitResult{ExitCode: 42}},
		"exit signal":    {config: `exit_signal = 9`, result: drivers.ExitResult{Signal: 9}}, // the code stays 0
		"output":         {config: `stdout_string = "a"` + "\n" + `stderr_string = "b"`, stdout: "a", stderr: "b"},
		"repeated":       {config: "stdout_string = \"a\"\nstdout_repeat = 3", stdout: "aaaa"},
		"nothing to say": {config: "stdout_repeat = 3\nstdout_repeat_duration = \"1s\""},
		"repeats outlive run_for": {
			config: "run_for = \"100ms\"\nstdout_string = \"a\"\nstdout_repeat = 3\nstdout_repeat_duration = \"1s\"",
			lasts:  3 * time.Second, stdout: "aaaa",
		},
		"two rhythms": {
			config: "stdout_string = \"a\"\nstdout_repeat = 2\nstdout_repeat_duration = \"1s\"\n" +
				"stderr_string = \"b\"\nstderr_repeat = 1\nstderr_repeat_duration = \"5s\"",
			lasts: 5 * time.Second, stdout: "aaa", stderr: "bb",
		},
		"plugin exits": {
			config: "run_for = \"6s\"\nplugin_exit_after = \"1s\"\nexit_code = 3\nstdout_string = \"a\"\nstdout_repeat = 9\nstdout_repeat_duration = \"400ms\"",
			lasts:  time.Second, result: drivers.ExitResult{Err: drivers.ErrPluginShutdown}, stdout: "aaa",
		},
		"plugin would exit after run_for": {
			config: "run_for = \"1s\"\nplugin_exit_after = \"2s\"\nstdout_string = \"a\"\nstdout_repeat = 1\nstdout_repeat_duration = \"3s\"",
			lasts:  3 * time.Second, stdout: "aa",
		},
		"exec_command changes nothing": {config: "exec_command {\n run_for = \"1s\"\n exit_code = 3\n stdout_string = \"x\"\n}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := mock.New()
				cfg, output := drivertest.Task(t, d, c.config)
				begin := time.Now()
				result := run(t, d, cfg)
				if lasted := time.Since(begin); lasted != c.lasts {
					t.Errorf("it lasted %v, not %v", lasted, c.lasts)
				}
				if *result != c.result {
					t.Errorf("the result is %+v, not %+v", *result, c.result)
				}
				if stdout, stderr, err := output.All(t.Context()); stdout != c.stdout || stderr != c.stderr || err != nil {
					t.Errorf("it wrote %q and %q: %v", stdout, stderr, err)
				}
				if err := d.DestroyTask(cfg.ID, false); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// run starts a task and returns how it ended.
func run(t *testing.T, d *mock.Driver, cfg *drivers.TaskConfig) *drivers.ExitResult {
	t.Helper()
	if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	return wait(t, d, cfg)
}

func wait(t *testing.T, d *mock.Driver, cfg *drivers.TaskConfig) *drivers.ExitResult {
	t.Helper()
	ch, err := d.WaitTask(t.Context(), cfg.ID)
	if err != nil {
		t.Fatal(err)
	}
	return <-ch
}

func TestExitErrMsg(t *testing.T) {
	t.Parallel()
	d := mock.New()
	cfg, _ := drivertest.Task(t, d, `exit_err_msg = "it broke"`)
	if result := run(t, d, cfg); result.ExitCode != 0 || result.Err == nil || result.Err.Error() != "it broke" || result.Successful() {
		t.Errorf("the result is %+v", result)
	}
}

// A task that is stopped ends as its script says, when its script says.
func TestStop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config  string
		timeout time.Duration
		takes   time.Duration
		stdout  string
	}{
		"at once":                     {`run_for = "1h"`, 5 * time.Second, 0, ""},
		"kill_after":                  {"run_for = \"1h\"\nkill_after = \"2s\"", 5 * time.Second, 2 * time.Second, ""},
		"kill_after over the timeout": {"run_for = \"1h\"\nkill_after = \"10s\"", 3 * time.Second, 3 * time.Second, ""},
		"no timeout":                  {"run_for = \"1h\"\nkill_after = \"10s\"", 0, 0, ""},
		"ends before":                 {"run_for = \"1s\"\nkill_after = \"10s\"", 20 * time.Second, time.Second, ""},
		"in the middle of output":     {"stdout_string = \"a\"\nstdout_repeat = 1000\nstdout_repeat_duration = \"1s\"\nkill_after = \"2500ms\"", time.Hour, 2500 * time.Millisecond, "aaa"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := mock.New()
				cfg, output := drivertest.Task(t, d, c.config+"\nexit_code = 7")
				if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				if err := d.StopTask(t.Context(), cfg.ID, c.timeout, "SIGTERM"); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); took != c.takes {
					t.Errorf("the stop took %v, not %v", took, c.takes)
				}
				if result := wait(t, d, cfg); *result != (drivers.ExitResult{ExitCode: 7}) {
					t.Errorf("the result is %+v", result)
				}
				stdout, _, err := output.All(t.Context())
				if err != nil || stdout != c.stdout {
					t.Errorf("it wrote %q, not %q: %v", stdout, c.stdout, err)
				}
			})
		})
	}
}

// A task that is like a process shows whether it was killed.
func TestStopLikeProcesses(t *testing.T) {
	t.Parallel()
	killed, ended := drivers.ExitResult{ExitCode: 137, Signal: 9}, drivers.ExitResult{ExitCode: 7}
	for name, c := range map[string]struct {
		killAfter, timeout time.Duration
		signal             string
		hurry              bool // the context ends before
		want               drivers.ExitResult
	}{
		"it obeys":                   {2 * time.Second, 5 * time.Second, "SIGTERM", false, ended},
		"just in time":               {2 * time.Second, 2 * time.Second, "SIGTERM", false, ended},
		"too late":                   {9 * time.Second, 5 * time.Second, "SIGTERM", false, killed},
		"no timeout":                 {0, 0, "SIGTERM", false, killed},
		"SIGKILL":                    {0, 5 * time.Second, "SIGKILL", false, killed},
		"the caller waits no longer": {2 * time.Second, 5 * time.Second, "SIGTERM", true, killed},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := mock.New()
			d.LikeProcesses = true
			cfg, _ := drivertest.Task(t, d, fmt.Sprintf("run_for = \"1h\"\nexit_code = 7\nkill_after = %q", c.killAfter))
			if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.hurry {
				cancel()
			}
			if err := d.StopTask(ctx, cfg.ID, c.timeout, c.signal); err != nil {
				t.Fatal(err)
			}
			if result := wait(t, d, cfg); *result != c.want {
				t.Errorf("%s: %+v, want %+v", name, *result, c.want)
			}
		})
	}
}

// Output without pauses can be stopped, too.
func TestStopFlood(t *testing.T) {
	t.Parallel()
	d := mock.New()
	cfg, output := drivertest.Task(t, d, "run_for = \"1h\"\nstdout_string = \"a\"\nstdout_repeat = 1000000000")
	if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if err := output.Await(t.Context(), "aaaa"); err != nil {
		t.Fatal(err)
	}
	if err := d.DestroyTask(cfg.ID, true); err != nil {
		t.Fatal(err)
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		`start_error = "cannot start"`:                        "cannot start",
		`run_for = "soon"`:                                    `run_for soon not a valid duration: time: invalid duration "soon"`,
		`run_for = 10`:                                        `run_for 10 not a valid duration: time: missing unit in duration "10"`,
		`start_block_for = "x"`:                               `start_block_for x not a valid duration: time: invalid duration "x"`,
		`plugin_exit_after = "x"`:                             `plugin_exit_after x not a valid duration: time: invalid duration "x"`,
		`kill_after = "x"`:                                    `kill_after x not a valid duration: time: invalid duration "x"`,
		`stdout_repeat_duration = "x"`:                        `stdout_repeat_duration x not a valid duration: time: invalid duration "x"`,
		`stderr_repeat_duration = "x"`:                        `stderr_repeat_duration x not a valid duration: time: invalid duration "x"`,
		"exec_command {\n run_for = \"x\"\n}":                 `run_for x not a valid duration: time: invalid duration "x"`,
		`driver_port_map = "http"`:                            `malformed port map: "http"`,
		`driver_port_map = "http:80:81"`:                      `malformed port map: "http:80:81"`,
		`driver_port_map = "http:eighty"`:                     `malformed port map: "http:eighty" -- error: strconv.Atoi: parsing "eighty": invalid syntax`,
		`exit_code = 1.5`:                                     `failed to decode driver config: cannot decode config: option "exit_code": value must be a whole number`,
		"start_error = \"first\"\ndriver_port_map = \"http\"": `first`,
	} {
		d := mock.New()
		cfg, output := drivertest.Task(t, d, config)
		_, _, err := d.StartTask(t.Context(), cfg)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("with %s the error is %v, not %s", config, err, want)
		}
		if drivers.IsRecoverable(err) {
			t.Errorf("with %s the error is recoverable", config)
		}
		if _, _, err := output.All(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestRecoverableStartError(t *testing.T) {
	t.Parallel()
	d := mock.New()
	cfg, _ := drivertest.Task(t, d, "start_error = \"later\"\nstart_error_recoverable = true")
	if _, _, err := d.StartTask(t.Context(), cfg); !drivers.IsRecoverable(err) || err.Error() != "later" {
		t.Errorf("the error is %v, recoverable: %v", err, drivers.IsRecoverable(err))
	}
}

func TestStartBlocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := mock.New()
		cfg, _ := drivertest.Task(t, d, "start_block_for = \"2s\"\nstart_error = \"then\"")
		begin := time.Now()
		_, _, err := d.StartTask(t.Context(), cfg)
		if took := time.Since(begin); took != 2*time.Second || err == nil || err.Error() != "then" {
			t.Errorf("after %v the error is %v", took, err)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		_, _, err = d.StartTask(ctx, cfg)
		if took := time.Since(begin); took != time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v the error is %v", took, err)
		}
	})
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	d := mock.New()
	cfg, _ := drivertest.Task(t, d, "driver_ip = \"10.0.0.1\"\ndriver_advertise = true\ndriver_port_map = \"http:8080\"")
	_, network, err := d.StartTask(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if network.IP != "10.0.0.1" || !network.AutoAdvertise || len(network.PortMap) != 1 || network.PortMap["http"] != 8080 {
		t.Errorf("the network is %+v", network)
	}
	wait(t, d, cfg)

	cfg, _ = drivertest.Task(t, d, "")
	if _, network, err = d.StartTask(t.Context(), cfg); err != nil || network == nil || network.IP != "" {
		t.Errorf("without options the network is %+v: %v", network, err)
	}
	wait(t, d, cfg)
}

func TestSignalError(t *testing.T) {
	t.Parallel()
	d := mock.New()
	cfg, _ := drivertest.Task(t, d, "run_for = \"1h\"\nsignal_error = \"not now\"")
	if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if err := d.SignalTask(cfg.ID, "SIGHUP"); err == nil || err.Error() != "not now" {
		t.Errorf("the error is %v", err)
	}
	if err := d.DestroyTask(cfg.ID, true); err != nil {
		t.Error(err)
	}
}

// fullOutput fails after some writes.
type fullOutput struct {
	room   int
	err    error
	closed int
}

func (o *fullOutput) Files() (stdout, stderr *os.File, err error) { return nil, nil, o.err }

func (o *fullOutput) Writers() (stdout, stderr io.WriteCloser, err error) { return o, o, nil }

func (o *fullOutput) Write(p []byte) (int, error) {
	if o.room--; o.room < 0 {
		return 0, o.err
	}
	return len(p), nil
}

func (o *fullOutput) Close() error {
	o.closed++
	return nil
}

// Both streams are closed once, however a task ends.
func TestOutputIsClosed(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"at the end":  `run_for = "1s"`,
		"killed":      "run_for = \"1h\"\nstdout_string = \"a\"\nstdout_repeat = 9\nstdout_repeat_duration = \"1h\"\nstderr_string = \"a\"\nstderr_repeat = 9\nstderr_repeat_duration = \"1h\"",
		"plugin exit": "run_for = \"1h\"\nplugin_exit_after = \"1s\"\nstderr_string = \"a\"\nstderr_repeat = 9\nstderr_repeat_duration = \"1h\"",
	} {
		synctest.Test(t, func(t *testing.T) {
			d := mock.New()
			cfg, _ := drivertest.Task(t, d, config)
			output := &fullOutput{room: 9}
			cfg.Output = output
			if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			if name != "killed" {
				wait(t, d, cfg)
			} else if err := d.DestroyTask(cfg.ID, true); err != nil {
				t.Fatal(err)
			}
			if output.closed != 2 {
				t.Errorf("%s: %d times", name, output.closed)
			}
		})
	}
}

// Output that cannot be written ends a task, until its run_for has passed.
func TestOutputFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		room  int
		lasts time.Duration
		fails bool
	}{
		"the first time": {0, 0, true},
		"soon":           {1, time.Second, true},
		"after run_for":  {4, 4 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := mock.New()
				cfg, _ := drivertest.Task(t, d, "run_for = \"2500ms\"\nexit_code = 3\nstdout_string = \"a\"\nstdout_repeat = 9\nstdout_repeat_duration = \"1s\"")
				full := errors.New("full")
				cfg.Output = &fullOutput{room: c.room, err: full}
				begin := time.Now()
				result := run(t, d, cfg)
				if lasted := time.Since(begin); lasted != c.lasts {
					t.Errorf("it lasted %v, not %v", lasted, c.lasts)
				}
				if errors.Is(result.Err, full) != c.fails || !c.fails && result.ExitCode != 3 {
					t.Errorf("the result is %+v", result)
				}
			})
		})
	}
}

// A task costs one goroutine, and none when it has ended.
func TestManyTasks(t *testing.T) { // alone, for it counts goroutines
	synctest.Test(t, func(t *testing.T) {
		const many = 10_000
		d := mock.New()
		cfg, _ := drivertest.Task(t, d, "run_for = \"1h\"")
		before := runtime.NumGoroutine()
		var ends []<-chan *drivers.ExitResult
		for i := range many {
			cfg := *cfg
			cfg.ID, cfg.Output = fmt.Sprint(i), &fullOutput{}
			if _, _, err := d.StartTask(t.Context(), &cfg); err != nil {
				t.Fatal(err)
			}
			ch, err := d.WaitTask(t.Context(), cfg.ID)
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, ch)
		}
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n > many {
			t.Errorf("%d tasks have %d goroutines", many, n)
		}
		for _, ch := range ends {
			<-ch
		}
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n > 0 {
			t.Errorf("%d goroutines are left", n)
		}
	})
}
