package docker

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"taskrun/drivers"
)

// codeUnknown is the exit code of a container of which nobody knows it.
const codeUnknown = -1

// drainTime is how long the rest of the output of a container that has ended
// may take to arrive.
const drainTime = 5 * time.Second

// watch waits for the end of the container and tells it. When the engine goes
// away, it waits for it to come back.
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
	told, absence := false, t.driver.config.Absence
	deadline := time.Now().Add(absence)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		info, err := t.inspect()
		switch {
		case err == nil && info.State != nil:
			return info.State, nil
		case errdefs.IsNotFound(err):
			return nil, fmt.Errorf("container %s is gone: %w", shortID(t.container), err)
		case time.Now().After(deadline):
			return nil, fmt.Errorf("the Docker engine is gone, and with it container %s: %w", shortID(t.container), lost)
		}
		if !told && unreachable(err) {
			told = true
			t.driver.emit(t.cfg, fmt.Sprintf("The Docker engine does not answer any more, waiting %v for it", absence), nil)
		}
		select {
		case <-time.After(pause):
		case <-t.interest.Done():
			return nil, context.Cause(t.interest)
		}
	}
}

func (t *task) inspect() (container.InspectResponse, error) {
	ctx, cancel := context.WithTimeout(t.interest, replyTime)
	defer cancel()
	info, err := t.cli.ContainerInspect(ctx, t.container, client.ContainerInspectOptions{})
	return info.Container, err
}

// ended tells that the container ended with a code, and looks for more.
func (t *task) ended(code int, failure *container.WaitExitError) {
	at := time.Now()
	result := drivers.ExitResult{ExitCode: code, Err: codeError(code)}
	if failure != nil && failure.Message != "" {
		result.Err = fmt.Errorf("docker: %s", failure.Message) //nolint:err113 // the engine's words
	}
	if info, err := t.inspect(); err == nil && info.State != nil {
		result = resultOf(info.State)
	}
	t.over(result, at)
}

// endedAs tells that the container ended while nobody waited.
func (t *task) endedAs(state *container.State) {
	at, err := time.Parse(time.RFC3339Nano, state.FinishedAt)
	if err != nil || at.Before(t.startedAt) {
		at = time.Now()
	}
	t.resume() // for what it wrote meanwhile
	t.over(resultOf(state), at)
}

// resultOf says how a container ended in Nomad's words.
func resultOf(state *container.State) drivers.ExitResult {
	result := drivers.ExitResult{ExitCode: state.ExitCode, Err: codeError(state.ExitCode)}
	switch {
	case state.OOMKilled:
		result.OOMKilled = true
		result.Err = errOOM
	case state.Error != "":
		result.Err = fmt.Errorf("docker: %s", state.Error) //nolint:err113 // the engine's words
	}
	return result
}

// codeError is what Nomad says of an exit code.
func codeError(code int) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("Docker container exited with non-zero exit code: %d", code) //nolint:staticcheck,err113 // Nomad's words
}

// over tells the end when all output is there.
func (t *task) over(result drivers.ExitResult, at time.Time) {
	t.output.close(drainTime)
	t.exit.Set(result, at)
}
