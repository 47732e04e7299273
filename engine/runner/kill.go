package runner

import (
	"context"
	"errors"
	"time"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
)

// stopRetries are the pauses after failed attempts to stop a task, as Nomad
// makes them.
var stopRetries = [...]time.Duration{5 * time.Second, 20 * time.Second, 80 * time.Second, 2 * time.Minute, 2 * time.Minute}

// runEnd is how one run of a task ended.
type runEnd struct {
	result  *drivers.ExitResult // nil when the driver lost the task
	killed  bool                // it was to end for good
	killErr error               // what went wrong with that
	restart bool                // it was to be started again, which is no failure
	left    bool                // it goes on without us
}

// wait waits for the end of the task's run, which an order may hasten.
func (t *task) wait() runEnd {
	defer t.inlet.refuse()
	for {
		end := t.waitOnce()
		if end.result == nil || !errors.Is(end.result.Err, drivers.ErrPluginShutdown) {
			return end
		}
		// The driver went away, not the task: find it again.
		if r, ok := t.driver.(drivers.Recoverer); !ok || r.RecoverTask(t.started) != nil {
			end.result = nil
			return end
		}
	}
}

func (t *task) waitOnce() runEnd {
	ended, err := t.driver.WaitTask(context.WithoutCancel(t.alloc.hard), t.id)
	if err != nil {
		return runEnd{killed: t.isKilled()}
	}
	switch {
	case t.isKilled():
		return t.kill(ended)
	case t.progress.Restarting: // by the order of an earlier engine
		result, _ := t.stopToRestart(ended)
		return runEnd{result: result, restart: !t.progress.Failure}
	}
	select {
	case result := <-ended:
		return runEnd{result: result}
	case req := <-t.inlet.requests:
		return t.restart(req, ended)
	case <-t.alloc.leaving.Done():
		if t.isLeft() {
			return runEnd{left: true}
		}
		<-t.killed.Done()
	case <-t.killed.Done():
	}
	return t.kill(ended)
}

// restart tells that the task restarts and stops it when the request says so,
// or at once when the engine leaves. Further requests are refused: two that
// each hold some of the tasks would wait for each other.
func (t *task) restart(req *restartRequest, ended <-chan *drivers.ExitResult) runEnd {
	t.inlet.refuse()
	p := t.progress
	p.Restarting, p.Failure = true, req.failure
	t.advance(p, func() { t.apply("", req.event) })
	close(req.taken)
	select {
	case <-req.begin:
	case <-t.alloc.leaving.Done():
	case <-t.killed.Done():
		req.done <- ErrTaskNotRunning
		return t.kill(ended)
	}
	result, err := t.stopToRestart(ended)
	req.done <- err
	return runEnd{result: result, restart: !req.failure}
}

// kill ends the task for good.
func (t *task) kill(ended <-chan *drivers.ExitResult) runEnd {
	t.prekill()
	if result := t.shutdownDelay(ended); result != nil {
		return runEnd{result: result, killed: true}
	}
	result, err := t.stop(ended)
	return runEnd{result: result, killed: true, killErr: err}
}

func (t *task) stopToRestart(ended <-chan *drivers.ExitResult) (*drivers.ExitResult, error) {
	t.prekill()
	return t.stop(ended)
}

// shutdownDelay waits for the task's shutdown_delay, and returns the result if
// the task ends meanwhile.
func (t *task) shutdownDelay(ended <-chan *drivers.ExitResult) *drivers.ExitResult {
	d := t.spec().ShutdownDelay
	if d <= 0 {
		return nil
	}
	if p := t.progress; p.Until.IsZero() {
		told := event.WaitingShutdownDelay(d)
		p.Until = time.Now().Add(d)
		if t.alloc.hard.Err() != nil {
			told, p.Until = event.SkippingShutdownDelay(d), time.Now()
		}
		t.advance(p, func() { t.apply(pending, told) })
	}
	if t.alloc.hard.Err() != nil {
		return nil
	}
	timer := time.NewTimer(time.Until(t.progress.Until))
	defer timer.Stop()
	select {
	case result := <-ended:
		return result
	case <-timer.C:
	case <-t.alloc.hard.Done():
	}
	return nil
}

// stop has the driver stop the task, again if that fails, and returns the
// task's result.
func (t *task) stop(ended <-chan *drivers.ExitResult) (*drivers.ExitResult, error) {
	grace := t.killTimeout()
	if t.progress.Stopping.IsZero() {
		t.progress.Stopping = time.Now()
		t.save(func() {})
	} else { // an earlier engine began
		grace = max(0, grace-time.Since(t.progress.Stopping))
	}
	var failure error
	for _, pause := range stopRetries {
		failure = t.driver.StopTask(t.alloc.hard, t.id, grace, t.spec().KillSignal)
		grace = t.killTimeout()
		if failure == nil || errors.Is(failure, drivers.ErrTaskNotFound) {
			return <-ended, nil
		}
		timer := time.NewTimer(pause)
		select {
		case result := <-ended:
			timer.Stop()
			return result, nil
		case <-t.alloc.hard.Done():
			timer.Stop()
			return nil, failure // the task is destroyed next, by force
		case <-timer.C:
		}
	}
	return nil, failure
}
