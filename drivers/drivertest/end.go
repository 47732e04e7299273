package drivertest

import (
	"context"
	"sync"
	"time"

	"taskrun/drivers"
)

func testWaitManyTimes(f *fixture) {
	t := f.startForever(false)
	before := []<-chan *drivers.ExitResult{f.watch(f.ctx, t), f.watch(f.ctx, t)}
	f.must(f.d.StopTask(f.ctx, t.ID, 0, ""))
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

func testWaitCanceled(f *fixture) {
	t := f.startForever(false)
	ctx, cancel := context.WithCancel(f.ctx)
	ch := f.watch(ctx, t)
	cancel()
	for _, ch := range []<-chan *drivers.ExitResult{ch, f.watch(ctx, t)} {
		if result, ok := <-ch; ok {
			f.Errorf("a canceled wait got %+v", result)
		}
	}
	f.mustRun(t)
}

func testStop(f *fixture) {
	t := f.startForever(false)
	f.must(f.d.StopTask(f.ctx, t.ID, patience, "SIGINT"))
	f.mustHaveEnded(t)
	result := f.wait(t)
	f.must(f.d.StopTask(f.ctx, t.ID, patience, "SIGINT"))
	if again := f.wait(t); *again != *result {
		f.Errorf("the result changed from %+v to %+v", result, again)
	}
}

func testStopStubborn(f *fixture) {
	t := f.startForever(true)
	const grace = 20 * time.Millisecond
	begin := time.Now()
	f.must(f.d.StopTask(f.ctx, t.ID, grace, "SIGINT"))
	if took := time.Since(begin); took < grace {
		f.Errorf("the task was killed after %v, not after %v", took, grace)
	}
	f.mustHaveEnded(t)
}

func testStopCanceled(f *fixture) {
	t := f.startForever(true)
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	f.must(f.d.StopTask(ctx, t.ID, time.Hour, "SIGINT"))
	f.mustHaveEnded(t)
}

func testStopAfterEnd(f *fixture) {
	t := f.start(Script{ExitCode: 7})
	f.wait(t)
	f.must(f.d.StopTask(f.ctx, t.ID, patience, ""))
	if result := f.wait(t); result.ExitCode != 7 {
		f.Errorf("the result changed to %+v", result)
	}
}

func testStopAtOnce(f *fixture) {
	t := f.startForever(true)
	f.must(f.d.StopTask(f.ctx, t.ID, 0, "SIGINT"))
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
	ch := f.watch(f.ctx, t)
	f.must(f.d.DestroyTask(t.ID, true))
	f.receive(ch)
	f.mustBeUnknown(t.ID)
}

func testDestroyEnded(f *fixture) {
	t := f.start(Script{})
	f.wait(t)
	f.must(f.d.DestroyTask(t.ID, false))
	f.mustBeUnknown(t.ID)
}

func testSignal(f *fixture) {
	d, ok := f.d.(drivers.Signaler)
	if !ok {
		f.Skip("the driver cannot send signals")
	}
	t := f.startForever(true)
	f.must(d.SignalTask(t.ID, "SIGINT"))
	for _, name := range []string{"SIGBOGUS", "sigkill", "KILL", "9"} {
		if err := d.SignalTask(t.ID, name); err == nil {
			f.Errorf("the unknown signal %q was accepted", name)
		}
	}
	f.mustRun(t)
}
