package drivertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"sync"

	"taskrun/drivers"
)

func testFingerprint(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	ch, err := f.d.Fingerprint(ctx)
	f.must(err)
	first := <-ch
	if attribute := "driver." + f.d.Info().Name; first.Health != drivers.HealthHealthy || first.Attributes[attribute] != "1" {
		f.Errorf("the first fingerprint is %+v, it should be healthy with %s = 1", first, attribute)
	}
	cancel()
	for range ch { // until it is closed
	}
}

func testStart(f *fixture) {
	t := f.prepare(Script{Stdout: "ready", Forever: true})
	env := maps.Clone(t.Env)
	handle, _, err := f.d.StartTask(f.ctx, t.TaskConfig)
	f.must(err)
	if !maps.Equal(t.Env, env) {
		f.Errorf("the environment is %v, it was %v", t.Env, env)
	}
	if handle == nil || handle.Config != t.TaskConfig || handle.State != drivers.TaskStateRunning || handle.Version == 0 {
		f.Errorf("the handle is %+v", handle)
	}
	f.mustRun(t)
	if status := f.inspect(t); status.ID != t.ID || status.Name != t.Name || status.StartedAt.IsZero() {
		f.Errorf("the status is %+v", status)
	}
	f.must(f.d.DestroyTask(t.ID, true))
}

func testStartTwice(f *fixture) {
	t := f.startForever(false)
	again := f.prepare(Script{})
	again.ID = t.ID
	if _, _, err := f.d.StartTask(f.ctx, again.TaskConfig); err == nil {
		f.Error("a second start with the same ID did not fail")
	}
	f.mustRun(t)
}

func testStartFails(f *fixture) {
	t := f.prepare(Script{})
	broken := errors.New("broken")
	t.Output = brokenOutput{broken}
	if _, _, err := f.d.StartTask(f.ctx, t.TaskConfig); !errors.Is(err, broken) {
		f.Errorf("the error is %v, it should say that the output is broken", err)
	}
	if _, err := f.d.InspectTask(t.ID); !errors.Is(err, drivers.ErrTaskNotFound) {
		f.Errorf("after a failed start the task is known: %v", err)
	}
	t.Output = t.output
	_, _, err := f.d.StartTask(f.ctx, t.TaskConfig)
	f.must(err)
	f.wait(t)
	f.must(f.d.DestroyTask(t.ID, true))
}

// brokenOutput cannot be opened.
type brokenOutput struct{ err error }

func (o brokenOutput) Files() (stdout, stderr *os.File, err error) { return nil, nil, o.err }

func (o brokenOutput) Writers() (stdout, stderr io.WriteCloser, err error) { return nil, nil, o.err }

func testExitCode(f *fixture) {
	for _, code := range []int{0, 1, 42, 255} {
		result := f.wait(f.start(Script{ExitCode: code}))
		if result.ExitCode != code || result.Signal != 0 || result.OOMKilled {
			f.Errorf("the result is %+v, its code should be %d", result, code)
		}
		want := ""
		if code != 0 && f.h.CodeError != nil {
			want = f.h.CodeError(code)
		}
		if result.Err == nil && want != "" || result.Err != nil && result.Err.Error() != want {
			f.Errorf("the error of code %d is %v, it should be %q", code, result.Err, want)
		}
		if result.Successful() != (code == 0) {
			f.Errorf("with code %d Successful is %v", code, result.Successful())
		}
	}
}

func testOutput(f *fixture) {
	t := f.start(Script{Stdout: "to stdout\n", Stderr: "to stderr\n"})
	f.wait(t)
	stdout, stderr, err := t.output.All(f.ctx)
	f.must(err)
	if stdout != "to stdout\n" || stderr != "to stderr\n" {
		f.Errorf("stdout is %q, stderr is %q", stdout, stderr)
	}
}

func testMany(f *fixture) {
	var wg sync.WaitGroup
	for i := range cmp.Or(f.h.Many, 50) {
		t := f.prepare(Script{Stdout: fmt.Sprint(i), ExitCode: i, Forever: i%5 == 0})
		wg.Go(func() {
			if _, _, err := f.d.StartTask(f.ctx, t.TaskConfig); err != nil {
				f.Error(err)
				return
			}
			ch, err := f.d.WaitTask(f.ctx, t.ID)
			if err != nil {
				f.Error(err)
				return
			}
			forever := i%5 == 0
			if forever {
				if err := t.output.Await(f.ctx, fmt.Sprint(i)); err != nil {
					f.Error(err)
				}
				if err := f.d.StopTask(f.ctx, t.ID, patience, "SIGINT"); err != nil {
					f.Error(err)
				}
			}
			if result := <-ch; result == nil || !forever && result.ExitCode != i {
				f.Errorf("the result of task %d is %+v", i, result)
			}
			if err := f.d.DestroyTask(t.ID, false); err != nil {
				f.Error(err)
			}
			stdout, _, err := t.output.All(f.ctx)
			if err != nil || stdout != fmt.Sprint(i) {
				f.Errorf("task %d wrote %q, %v", i, stdout, err)
			}
		})
	}
	wg.Wait()
}
