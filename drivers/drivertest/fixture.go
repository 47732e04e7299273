package drivertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"taskrun/drivers"
)

// patience limits every operation.
const patience = time.Minute

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

// await waits until stdout contains the text.
func (f *fixture) await(o *Output, text string) {
	f.Helper()
	if err := o.Await(f.ctx, text); err != nil {
		f.Fatalf("the output is %q, without %q: %v", o.Stdout(), text, err)
	}
}
