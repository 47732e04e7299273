package drivertest

import (
	"context"
	"errors"
	"sync"
	"time"

	"taskrun/drivers"
)

func testWaitManyTimes(f *fixture) {
	t := f.startForever(false)
	var before [2]<-chan *drivers.ExitResult
	for i := range before {
		var err error
		if before[i], err = f.d.WaitTask(f.ctx, t.ID); err != nil {
			f.Fatal(err)
		}
	}
	if err := f.d.StopTask(f.ctx, t.ID, 0, ""); err != nil {
		f.Fatal(err)
	}
	want := *f.wait(t)
	for _, ch := range before {
		if got := *f.receive(ch); got != want {
			f.Errorf("one waiter got %+v, another %+v", got, want)
		}
	}
	if got := *f.wait(t); got != want {
		f.Errorf("after the end a waiter got %+v, before it %+v", got, want)
	}
}

func testWaitCancelled(f *fixture) {
	t := f.startForever(false)
	ctx, cancel := context.WithCancel(f.ctx)
	ch, err := f.d.WaitTask(ctx, t.ID)
	if err != nil {
		f.Fatal(err)
	}
	cancel()
	if result, ok := <-ch; ok {
		f.Errorf("a cancelled wait got %+v", result)
	}
	if ch, err = f.d.WaitTask(ctx, t.ID); err != nil {
		f.Fatal(err)
	}
	if result, ok := <-ch; ok {
		f.Errorf("a wait cancelled beforehand got %+v", result)
	}
	f.mustRun(t)
}

func testStop(f *fixture) {
	t := f.startForever(false)
	if err := f.d.StopTask(f.ctx, t.ID, patience, "SIGINT"); err != nil {
		f.Fatal(err)
	}
	f.mustHaveEnded(t)
	result := f.wait(t)
	if err := f.d.StopTask(f.ctx, t.ID, patience, "SIGINT"); err != nil {
		f.Errorf("the second time: %v", err)
	}
	if again := f.wait(t); *again != *result {
		f.Errorf("the result changed from %+v to %+v", result, again)
	}
}

func testStopStubborn(f *fixture) {
	t := f.startForever(true)
	const grace = 20 * time.Millisecond
	begin := time.Now()
	if err := f.d.StopTask(f.ctx, t.ID, grace, "SIGINT"); err != nil {
		f.Fatal(err)
	}
	if took := time.Since(begin); took < grace {
		f.Errorf("the task was killed after %v, not after %v", took, grace)
	}
	f.mustHaveEnded(t)
}

func testStopCancelled(f *fixture) {
	t := f.startForever(true)
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	if err := f.d.StopTask(ctx, t.ID, time.Hour, "SIGINT"); err != nil {
		f.Fatal(err)
	}
	f.mustHaveEnded(t)
}

func testStopAfterEnd(f *fixture) {
	t := f.start(Script{ExitCode: 7})
	f.wait(t)
	if err := f.d.StopTask(f.ctx, t.ID, patience, ""); err != nil {
		f.Error(err)
	}
	if result := f.wait(t); result.ExitCode != 7 {
		f.Errorf("the result changed to %+v", result)
	}
}

func testStopAtOnce(f *fixture) {
	t := f.startForever(true)
	if err := f.d.StopTask(f.ctx, t.ID, 0, "SIGINT"); err != nil {
		f.Fatal(err)
	}
	f.mustHaveEnded(t)
}

func testStopTogether(f *fixture) {
	t := f.startForever(false)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := f.d.StopTask(f.ctx, t.ID, patience, ""); err != nil {
				f.Error(err)
			}
		})
	}
	wg.Wait()
	f.mustHaveEnded(t)
}

func testDestroyRunning(f *fixture) {
	t := f.startForever(true)
	if err := f.d.DestroyTask(t.ID, false); err == nil {
		f.Error("a running task was destroyed without force")
	}
	f.mustRun(t)
	ch, err := f.d.WaitTask(f.ctx, t.ID)
	if err != nil {
		f.Fatal(err)
	}
	if err := f.d.DestroyTask(t.ID, true); err != nil {
		f.Fatal(err)
	}
	f.receive(ch)
	f.mustBeUnknown(t.ID)
}

func testDestroyEnded(f *fixture) {
	t := f.start(Script{})
	f.wait(t)
	if err := f.d.DestroyTask(t.ID, false); err != nil {
		f.Error(err)
	}
	f.mustBeUnknown(t.ID)
}

func testUnknownTask(f *fixture) { f.mustBeUnknown("no/such/task") }

// mustBeUnknown checks that every method says so, with that very error: the
// runner takes it for the end of the task.
func (f *fixture) mustBeUnknown(id string) {
	f.Helper()
	_, waitErr := f.d.WaitTask(f.ctx, id)
	_, inspectErr := f.d.InspectTask(id)
	for method, err := range map[string]error{
		"WaitTask":    waitErr,
		"StopTask":    f.d.StopTask(f.ctx, id, 0, ""),
		"DestroyTask": f.d.DestroyTask(id, true),
		"InspectTask": inspectErr,
	} {
		if !errors.Is(err, drivers.ErrTaskNotFound) {
			f.Errorf("the error of %s is %v", method, err)
		}
	}
	if d, ok := f.d.(drivers.Signaler); ok {
		if err := d.SignalTask(id, "SIGHUP"); !errors.Is(err, drivers.ErrTaskNotFound) {
			f.Errorf("the error of SignalTask is %v", err)
		}
	}
	if d, ok := f.d.(drivers.StatsCollector); ok {
		if _, err := d.TaskStats(f.ctx, id, time.Second); !errors.Is(err, drivers.ErrTaskNotFound) {
			f.Errorf("the error of TaskStats is %v", err)
		}
	}
	if drivers.CanCapture(f.d) {
		if _, err := drivers.ExecTask(f.ctx, f.d, id, f.deaf([]string{"true"}, false)); !errors.Is(err, drivers.ErrTaskNotFound) {
			f.Errorf("the error of a command is %v", err)
		}
	}
	if drivers.CanCapture(f.d) {
		if _, err := drivers.Capture(f.ctx, f.d, id, []string{"true"}); !errors.Is(err, drivers.ErrTaskNotFound) {
			f.Errorf("the error of Capture is %v", err)
		}
	}
}

func testSignal(f *fixture) {
	d, ok := f.d.(drivers.Signaler)
	if !ok {
		f.Skip("the driver cannot send signals")
	}
	t := f.startForever(true)
	if err := d.SignalTask(t.ID, "SIGINT"); err != nil {
		f.Error(err)
	}
	for _, name := range []string{"SIGBOGUS", "sigkill", "KILL", "9"} {
		if err := d.SignalTask(t.ID, name); err == nil {
			f.Errorf("the unknown signal %q was accepted", name)
		}
	}
	f.mustRun(t)
}
