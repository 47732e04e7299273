package mock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"taskrun/drivers"
	"taskrun/drivers/taskstore"
)

// task is one task that plays its script, in one goroutine.
type task struct {
	*config
	name      string
	startedAt time.Time
	exit      *taskstore.Exit
	kill      func() // ends the script early
	killed    chan struct{}
}

// start begins a task. When ctx ends during start_block_for it gives up.
func start(ctx context.Context, cfg *drivers.TaskConfig) (*task, error) {
	c, err := decodeConfig(cfg.Config)
	if err != nil {
		return nil, err
	}
	if c.startBlockFor > 0 {
		block := time.NewTimer(c.startBlockFor)
		defer block.Stop()
		select {
		case <-block.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("start_block_for was interrupted: %w", context.Cause(ctx))
		}
	}
	if c.startError != nil {
		return nil, c.startError
	}
	if c.network.PortMap, err = parsePortMap(c.portMap); err != nil {
		return nil, err
	}
	stdout, stderr, err := cfg.Output.Writers()
	if err != nil {
		return nil, fmt.Errorf("cannot open the output of task %q: %w", cfg.Name, err)
	}
	t := newTask(c, cfg.Name, time.Now())
	go t.play(
		&player{script: c.stdout, w: stdout},
		&player{script: c.stderr, w: stderr},
	)
	return t, nil
}

func newTask(c *config, name string, startedAt time.Time) *task {
	killed := make(chan struct{})
	return &task{
		config:    c,
		name:      name,
		startedAt: startedAt,
		exit:      taskstore.NewExit(),
		kill:      sync.OnceFunc(func() { close(killed) }),
		killed:    killed,
	}
}

// recovered goes on with a task that was started earlier, in silence.
func recovered(cfg *drivers.TaskConfig, startedAt time.Time) (*task, error) {
	c, err := decodeConfig(cfg.Config)
	if err != nil {
		return nil, err
	}
	c.runFor = max(0, c.runFor-time.Since(startedAt))
	c.stdout, c.stderr = script{}, script{}
	t := newTask(c, cfg.Name, startedAt)
	go t.play(&player{w: discard{}}, &player{w: discard{}})
	return t, nil
}

// discard is an output that nobody wants.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

// end kills the task, if it runs, and waits for its end.
func (t *task) end() {
	t.kill()
	<-t.exit.Done()
}

func (t *task) running() bool { return !t.exit.Ended() }

// play performs the script and tells how it ended.
func (t *task) play(stdout, stderr *player) {
	result, _ := t.perform(stdout, stderr, t.killed, t.pluginExitAfter)
	t.exit.Set(result, time.Now())
}

// perform plays a command. It lasts for run_for, and longer if repeats of the
// output are left then, which a kill forgoes. Only until run_for has passed can
// a failed write fail the command, and the plugin exit (0: never).
func (c *command) perform(stdout, stderr *player, kill <-chan struct{}, exitAfter time.Duration) (result drivers.ExitResult, killed bool) {
	defer stderr.finish()
	defer stdout.finish()
	runFor := time.NewTimer(c.runFor)
	defer runFor.Stop()
	var pluginExit <-chan time.Time
	if exitAfter != 0 {
		timer := time.NewTimer(exitAfter)
		defer timer.Stop()
		pluginExit = timer.C
	}

	err := errors.Join(stdout.begin(), stderr.begin())
	for elapsed := false; !elapsed || stdout.playing() || stderr.playing(); {
		if err != nil && !elapsed {
			return drivers.ExitResult{Err: err}, false
		}
		select {
		case <-kill: // before a script that writes without a pause
			return c.result, true
		default:
		}
		select {
		case <-kill:
			return c.result, true
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
	return c.result, false
}
