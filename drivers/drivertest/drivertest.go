// Package drivertest is the test suite of drivers: a driver is finished when it
// passes Run. It also provides the config and the output of a task for other
// tests of drivers.
package drivertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"taskrun/drivers"
)

// Harness describes a driver to the suite.
type Harness struct {
	// New returns a driver without tasks. Run shuts it down.
	New func() drivers.Driver

	// Script returns the config block, in HCL, of a task.
	Script func(Script) string

	// CodeError returns the text of the driver's error for an exit code other
	// than 0; nil: there is none.
	CodeError func(code int) string

	// Many is how many tasks run at once; 0 means 50.
	Many int

	// Command returns a command to run in a task; nil: commands are not tested.
	Command func(Command) []string

	// Size is a command that writes the height and width of its terminal for
	// every line that it reads; nil for a driver without real terminals.
	Size []string

	// Captured returns the output of Capture for a driver that executes nothing
	// for it; nil for all others.
	Captured func(argv []string) string
}

// Script describes a task of the suite: it writes its output, and exits unless
// Forever is set.
type Script struct {
	Stdout, Stderr string
	ExitCode       int
	Forever        bool // it runs until it is stopped
	Stubborn       bool // SIGINT does not end it

	Command *Command // will be run in the task; nil: none
}

// patience limits every operation.
const patience = time.Minute

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	for _, c := range []struct {
		name string
		test func(*fixture)
	}{
		{"Info", testInfo},
		{"Fingerprint", testFingerprint},
		{"Start", testStart},
		{"StartTwice", testStartTwice},
		{"StartFails", testStartFails},
		{"ExitCode", testExitCode},
		{"Output", testOutput},
		{"WaitManyTimes", testWaitManyTimes},
		{"WaitCanceled", testWaitCanceled},
		{"Stop", testStop},
		{"StopStubborn", testStopStubborn},
		{"StopCanceled", testStopCanceled},
		{"StopAfterEnd", testStopAfterEnd},
		{"StopAtOnce", testStopAtOnce},
		{"StopTogether", testStopTogether},
		{"DestroyRunning", testDestroyRunning},
		{"DestroyEnded", testDestroyEnded},
		{"UnknownTask", testUnknownTask},
		{"Signal", testSignal},
		{"Exec", testExec},
		{"ExecStdin", testExecStdin},
		{"ExecTerminal", testExecTerminal},
		{"ExecSize", testExecSize},
		{"ExecDisconnect", testExecDisconnect},
		{"ExecCanceled", testExecCanceled},
		{"ExecTaskEnds", testExecTaskEnds},
		{"Capture", testCapture},
		{"CaptureTimeout", testCaptureTimeout},
		{"Stats", testStats},
		{"Events", testEvents},
		{"Recover", testRecover},
		{"Concurrent", testConcurrent},
		{"Many", testMany},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := &fixture{T: t, h: h, d: h.New()}
			var cancel context.CancelFunc
			f.ctx, cancel = context.WithTimeoutCause(context.Background(), patience, errors.New("it took too long"))
			t.Cleanup(func() {
				defer cancel()
				if d, ok := f.d.(drivers.Shutdowner); ok {
					if n, err := d.Shutdown(f.ctx); n != 0 || err != nil {
						t.Errorf("at the end the driver killed %d processes: %v", n, err)
					}
				}
			})
			c.test(f)
		})
	}
}

// fixture is one test with its driver.
type fixture struct {
	*testing.T
	h   Harness
	d   drivers.Driver
	ctx context.Context // ends when patience does
}

// task is one task of a test.
type task struct {
	*drivers.TaskConfig
	output *Output
}

// must fails the test at once if err is an error.
func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// prepare returns a task that was not started.
func (f *fixture) prepare(s Script) task {
	f.Helper()
	cfg, output := Task(f.T, f.d, f.h.Script(s))
	return task{cfg, output}
}

// start starts a task and destroys it at the end of the test.
func (f *fixture) start(s Script) task {
	f.Helper()
	t := f.prepare(s)
	_, _, err := f.d.StartTask(f.ctx, t.TaskConfig)
	f.must(err)
	f.Cleanup(func() {
		if err := f.d.DestroyTask(t.ID, true); err != nil && !errors.Is(err, drivers.ErrTaskNotFound) {
			f.Error(err)
		}
	})
	return t
}

// startForever starts a task that runs until it is stopped, and waits until it
// is ready for a signal.
func (f *fixture) startForever(stubborn bool) task {
	f.Helper()
	t := f.start(Script{Stdout: "ready", Forever: true, Stubborn: stubborn})
	f.await(t.output, "ready")
	return t
}

// wait returns how a task ended.
func (f *fixture) wait(t task) *drivers.ExitResult {
	f.Helper()
	return f.receive(f.watch(f.ctx, t))
}

// watch returns the channel of WaitTask.
func (f *fixture) watch(ctx context.Context, t task) <-chan *drivers.ExitResult {
	f.Helper()
	ch, err := f.d.WaitTask(ctx, t.ID)
	f.must(err)
	return ch
}

// receive returns the only value of a channel, which is then closed.
func (f *fixture) receive(ch <-chan *drivers.ExitResult) *drivers.ExitResult {
	f.Helper()
	result, ok := <-ch
	if !ok {
		f.Fatal("the channel was closed without a result")
	}
	if _, more := <-ch; more {
		f.Error("the channel has a second result")
	}
	return result
}

func (f *fixture) inspect(t task) *drivers.TaskStatus {
	f.Helper()
	status, err := f.d.InspectTask(t.ID)
	f.must(err)
	return status
}

func (f *fixture) mustRun(t task) {
	f.Helper()
	if status := f.inspect(t); status.State != drivers.TaskStateRunning || !status.CompletedAt.IsZero() || status.ExitResult != nil {
		f.Fatalf("the task should run, it is %+v", status)
	}
}

func (f *fixture) mustHaveEnded(t task) {
	f.Helper()
	status := f.inspect(t)
	if status.State != drivers.TaskStateExited || status.ExitResult == nil || status.CompletedAt.Before(status.StartedAt) {
		f.Fatalf("the task should have ended, it is %+v", status)
	}
}
