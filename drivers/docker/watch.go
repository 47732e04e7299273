package docker

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
)

// drainTime is how long the rest of the output may take to arrive after the end
// of a container.
const drainTime = 5 * time.Second

// watch waits for the end of the container. If the engine goes away, watch waits
// for it to come back.
func (t *task) watch(wait client.ContainerWaitResult) {
	for {
		select {
		case r := <-wait.Result:
			t.ended(int(r.StatusCode), r.Error)
			return
		case err := <-wait.Error:
			if t.interest.Err() != nil {
				return
			}
			state, err := t.findAgain(err)
			switch {
			case t.interest.Err() != nil:
				return
			case err != nil:
				t.over(drivers.ExitResult{ExitCode: codeUnknown, Err: err}, time.Now())
				return
			case !state.Running:
				t.endedAs(state)
				return
			}
			t.resume()
			wait = t.cli.ContainerWait(t.interest, t.container, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
		}
	}
}

// findAgain returns the state of the container once the engine answers.
func (t *task) findAgain(lost error) (*container.State, error) {
	told, deadline := false, time.Now().Add(t.absence)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		info, err := t.inspect()
		switch {
		case err == nil && info.State != nil:
			return info.State, nil
		case errdefs.IsNotFound(err):
			return nil, fmt.Errorf("container %s is gone: %w", daemon.ShortID(t.container), err)
		}
		if !told && daemon.Unreachable(err) {
			told = true
			t.events.Tell(t.cfg, drivers.TaskEvent{Message: fmt.Sprintf("The %s engine no longer answers, waiting %v for it", t.front.Engine, t.absence)})
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("the %s engine is gone, and with it container %s: %w", t.front.Engine, daemon.ShortID(t.container), lost)
		}
		select {
		case <-time.After(pause):
		case <-t.interest.Done():
			return nil, context.Cause(t.interest)
		}
	}
}

// ended records that the container ended with a code, and asks the engine for
// more.
func (t *task) ended(code int, failure *container.WaitExitError) {
	at := time.Now()
	result := drivers.ExitResult{ExitCode: code, Err: t.front.CodeError(code)}
	if failure != nil && failure.Message != "" {
		result.Err = fmt.Errorf("%s: %s", t.front.Name, failure.Message) //nolint:err113 // the engine's words
	}
	if info, err := t.inspect(); err == nil && info.State != nil {
		result = t.resultOf(info.State)
	}
	t.over(result, at)
}

// endedAs records an end that happened while the engine was unreachable.
func (t *task) endedAs(state *container.State) {
	at, err := time.Parse(time.RFC3339Nano, state.FinishedAt)
	if err != nil || at.Before(t.StartedAt) {
		at = time.Now()
	}
	t.resume() // for the output in the meantime
	t.over(t.resultOf(state), at)
}

// resultOf returns how a container ended, in the words of Nomad's driver.
func (t *task) resultOf(state *container.State) drivers.ExitResult {
	result := drivers.ExitResult{ExitCode: state.ExitCode, Err: t.front.CodeError(state.ExitCode)}
	switch {
	case state.OOMKilled:
		result.OOMKilled = true
		result.Err = t.front.OutOfMemory
	case state.Error != "":
		result.Err = fmt.Errorf("%s: %s", t.front.Name, state.Error) //nolint:err113 // the engine's words
	}
	return result
}

// over records the end once all output has arrived.
func (t *task) over(result drivers.ExitResult, at time.Time) {
	t.output.close(drainTime)
	t.Set(result, at)
}
