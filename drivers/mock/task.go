package mock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"taskrun/drivers"
	"taskrun/drivers/taskstore"
)

// task is one task that plays its script, in one goroutine.
type task struct {
	*config
	*taskstore.Life
	network *drivers.Network
	kill    func() // ends the script early
	killed  chan struct{}
	forced  atomic.Bool // the kill left it no choice how to end
}

// start starts a task, unless ctx ends during start_block_for.
func start(ctx context.Context, cfg *drivers.TaskConfig) (*task, error) {
	c, err := decodeConfig(cfg.Config)
	if err != nil {
		return nil, err
	}
	if c.StartBlockFor > 0 {
		block := time.NewTimer(c.StartBlockFor)
		defer block.Stop()
		select {
		case <-block.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("start_block_for was interrupted: %w", context.Cause(ctx))
		}
	}
	if err := c.startError(); err != nil {
		return nil, err
	}
	network, err := c.network()
	if err != nil {
		return nil, err
	}
	stdout, stderr, err := cfg.Output.Writers()
	if err != nil {
		return nil, fmt.Errorf("cannot open the output of task %q: %w", cfg.Name, err)
	}
	t := newTask(c, cfg.Name, time.Now())
	t.network = network
	go t.play(stdout, stderr)
	return t, nil
}

func newTask(c *config, name string, startedAt time.Time) *task {
	killed := make(chan struct{})
	t := &task{config: c, Life: taskstore.NewLife(name), killed: killed, kill: sync.OnceFunc(func() { close(killed) })}
	t.StartedAt = startedAt
	return t
}

// recovered continues a task that was started earlier, without output.
func recovered(cfg *drivers.TaskConfig, startedAt time.Time) (*task, error) {
	c, err := decodeConfig(cfg.Config)
	if err != nil {
		return nil, err
	}
	c.RunFor = max(0, c.RunFor-time.Since(startedAt))
	c.StdoutString, c.StderrString = "", ""
	t := newTask(c, cfg.Name, startedAt)
	go t.play(unclosed{io.Discard}, unclosed{io.Discard})
	return t, nil
}

// unclosed is a stream that is not closed.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// end ends the task, if it runs, and waits for that. By force it ends as a killed
// process does, else as its script says.
func (t *task) end(force bool) {
	if force {
		t.forced.Store(true)
	}
	t.kill()
	<-t.Done()
}

// killedResult is how a task or a command that was killed ends, as of a process.
var killedResult = drivers.ExitResult{ExitCode: 137, Signal: 9}

// play performs the script and records how it ended.
func (t *task) play(stdout, stderr io.WriteCloser) {
	result, killed := t.perform(stdout, stderr, t.killed, t.PluginExitAfter)
	if killed && t.forced.Load() {
		result = killedResult
	}
	t.Set(result, time.Now())
}

// perform plays a command. It lasts for run_for, and longer if repeats of the
// output remain. Only during run_for can a failed write fail the command, and the
// plugin exit (0: never).
func (c *command) perform(out, errs io.WriteCloser, kill <-chan struct{}, exitAfter time.Duration) (result drivers.ExitResult, killed bool) {
	stdout := &player{w: out, text: c.StdoutString, repeat: c.StdoutRepeat, pause: c.StdoutRepeatDuration}
	stderr := &player{w: errs, text: c.StderrString, repeat: c.StderrRepeat, pause: c.StderrRepeatDuration}
	defer stderr.finish()
	defer stdout.finish()
	runFor := time.NewTimer(c.RunFor)
	defer runFor.Stop()
	var pluginExit <-chan time.Time
	if exitAfter != 0 {
		timer := time.NewTimer(exitAfter)
		defer timer.Stop()
		pluginExit = timer.C
	}

	err := errors.Join(stdout.write(), stderr.write())
	for elapsed := false; !elapsed || stdout.playing() || stderr.playing(); {
		if err != nil && !elapsed {
			return drivers.ExitResult{Err: err}, false
		}
		select {
		case <-kill: // before a script that writes without a pause
			return c.result(), true
		default:
		}
		select {
		case <-kill:
			return c.result(), true
		case <-pluginExit:
			return drivers.ExitResult{Err: drivers.ErrPluginShutdown}, false
		case <-runFor.C:
			elapsed, pluginExit = true, nil
		case <-stdout.due():
			err = stdout.write()
		case <-stderr.due():
			err = stderr.write()
		}
	}
	return c.result(), false
}
