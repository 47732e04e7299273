package runner

import (
	"cmp"
	"context"
	"errors"
	"time"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
)

// stopRetries are Nomad's pauses after failed attempts to stop a task.
var stopRetries = [...]time.Duration{5 * time.Second, 20 * time.Second, 80 * time.Second, 2 * time.Minute, 2 * time.Minute}

// runEnd is how a run of a task ended.
type runEnd struct {
	result  *drivers.ExitResult // nil when the driver lost the task
	killed  bool                // it was told to end for good
	killErr error               // an error while killing it
	halted  bool                // it was told to stop until it is told to start
	answer  *restartRequest     // which told so; to be answered when that is known
	restart bool                // it was told to restart, which is no failure
	left    bool                // it continues without this engine
}

// wait waits for the end of the task's run. An order can end it early.
func (t *taskRun) wait() *runEnd {
	defer t.inlet.refuse()
	var answer *restartRequest
	for {
		end := t.waitOnce()
		answer = cmp.Or(answer, end.answer)
		end.answer = answer
		if end.result == nil || !errors.Is(end.result.Err, drivers.ErrPluginShutdown) {
			return end
		}
		// The driver went away, but the task may still run: find it again.
		if r, ok := t.driver.(drivers.Recoverer); !ok || r.RecoverTask(t.started) != nil {
			end.result = nil
			return end
		}
	}
}

// ending stops a started task.
type ending struct {
	*taskRun
	ended <-chan *drivers.ExitResult
}

func (t *taskRun) waitOnce() *runEnd {
	ended, err := t.driver.WaitTask(context.WithoutCancel(t.alloc.hard), t.id)
	if err != nil {
		return &runEnd{killed: t.isKilled()}
	}
	e := ending{t, ended}
	switch {
	case t.isKilled():
		return e.kill()
	case t.progress.Halt: // ordered under an earlier engine
		return e.halt()
	case t.progress.Restarting: // likewise
		result, _ := e.stopToRestart()
		return &runEnd{result: result, restart: !t.progress.Failure}
	}
	select {
	case result := <-ended:
		return &runEnd{result: result}
	case req := <-t.inlet.requests:
		return e.restart(req)
	case <-t.alloc.leaving.Done():
		if t.isLeft() {
			return &runEnd{left: true}
		}
		<-t.killed.Done()
	case <-t.killed.Done():
	}
	return e.kill()
}

// restart reports that the task restarts, and stops it when the request says
// so, or at once when the engine leaves. It refuses further requests: two that
// each hold some of the tasks would wait for each other.
func (e ending) restart(req *restartRequest) *runEnd {
	e.inlet.refuse()
	p := e.progress
	p.Restarting, p.Failure, p.Halt = true, req.failure, req.halt
	e.advance(p, func() {
		if req.event != nil {
			e.apply("", req.event)
		}
	})
	close(req.taken)
	if req.halt {
		end := e.halt()
		end.answer = req
		return end
	}
	select {
	case <-req.begin:
	case <-e.alloc.leaving.Done():
	case <-e.killed.Done():
		req.done <- ErrTaskNotRunning
		return e.kill()
	}
	result, err := e.stopToRestart()
	req.done <- err
	return &runEnd{result: result, restart: !req.failure}
}

// kill ends the task for good.
func (e ending) kill() *runEnd {
	e.hooks.prekill()
	if result := e.shutdownDelay(); result != nil {
		return &runEnd{result: result, killed: true}
	}
	result, err := e.stop()
	return &runEnd{result: result, killed: true, killErr: err}
}

// halt ends the task until it is told to start.
func (e ending) halt() *runEnd {
	end := e.kill()
	end.killed, end.halted = e.isKilled(), true
	return end
}

func (e ending) stopToRestart() (*drivers.ExitResult, error) {
	e.hooks.prekill()
	return e.stop()
}

// shutdownDelay waits for the task's shutdown_delay. It returns the result if
// the task ends before that.
func (e ending) shutdownDelay() *drivers.ExitResult {
	d := e.spec().ShutdownDelay
	if d <= 0 {
		return nil
	}
	skip := e.alloc.hard.Err() != nil || e.alloc.prompt.Err() != nil
	if p := e.progress; p.Until.IsZero() {
		told := event.WaitingShutdownDelay(d)
		p.Until = time.Now().Add(d)
		if skip {
			told, p.Until = event.SkippingShutdownDelay(d), time.Now()
		}
		e.advance(p, func() { e.apply(pending, told) })
	}
	if skip {
		return nil
	}
	select {
	case result := <-e.ended:
		return result
	case <-time.After(time.Until(e.progress.Until)):
	case <-e.alloc.prompt.Done():
	case <-e.alloc.hard.Done():
	}
	return nil
}

// stop tells the driver to stop the task, retries on errors, and returns the
// task's result.
func (e ending) stop() (*drivers.ExitResult, error) {
	grace := e.killTimeout()
	if e.progress.Stopping.IsZero() {
		e.progress.Stopping = time.Now()
		e.save(func() {})
	} else { // an earlier engine has started to stop it
		grace = max(0, grace-time.Since(e.progress.Stopping))
	}
	var failure error
	for _, pause := range stopRetries {
		failure = e.driver.StopTask(e.alloc.hard, e.id, grace, e.spec().KillSignal)
		grace = e.killTimeout()
		if failure == nil || errors.Is(failure, drivers.ErrTaskNotFound) {
			return <-e.ended, nil
		}
		select {
		case result := <-e.ended:
			return result, nil
		case <-e.alloc.hard.Done():
			return nil, failure // the task is destroyed next, by force
		case <-time.After(pause):
		}
	}
	return nil, failure
}
