package rawexec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"taskrun/drivers"
	"taskrun/drivers/cgroup"
	"taskrun/drivers/process"
	"taskrun/drivers/procstats"
	"taskrun/drivers/taskstore"
)

// killWait is how long a process may take to end after SIGKILL.
const killWait = 15 * time.Second

// task is one command that was started.
type task struct {
	name      string
	spec      process.Spec // for the commands that are run in it; without files
	process   *process.Process
	startedAt time.Time
	exit      *taskstore.Exit
	config    *TaskConfig
	group     *cgroup.Group // nil if it needs none

	mu       sync.Mutex
	commands map[*process.Process]bool // that run in it; see command

	stats      sync.Mutex // serialises measuring
	sampler    procstats.Sampler
	lastSample *drivers.TaskResourceUsage
	sampledAt  time.Time
}

// start starts the command of a task. Nothing is left behind when it fails.
func (d *Driver) start(cfg *drivers.TaskConfig) (*task, error) {
	c, err := d.decode(cfg)
	if err != nil {
		return nil, err
	}
	as, err := lookupAccount(cfg.User)
	if err == nil {
		err = d.config.permit(as)
	}
	if err != nil {
		return nil, fmt.Errorf("failed driver config validation: %w", err)
	}
	t, err := d.launch(cfg, c, as)
	if err != nil {
		return nil, fmt.Errorf("failed to launch command with executor: %w", err)
	}
	return t, nil
}

func (d *Driver) launch(cfg *drivers.TaskConfig, c *TaskConfig, as *account) (t *task, err error) {
	t = d.newTask(cfg, c, as)
	spec := t.spec
	spec.Kept = true
	spec.Args, spec.OnExit = c.Args, t.ended
	if err := checkDir(spec.Dir); err != nil {
		return nil, err
	}
	if spec.Path, err = lookup(cfg.TaskDir(), c.Command, as.uids()...); err != nil {
		return nil, err
	}
	if err := makeExecutable(cfg.AllocDir, spec.Path); err != nil {
		return nil, err
	}
	if spec.Stdout, spec.Stderr, err = cfg.Output.Files(); err != nil {
		return nil, fmt.Errorf("cannot open the output of task %q: %w", cfg.Name, err)
	}
	defer closeFiles(spec.Stdout, spec.Stderr)
	if t.group, err = d.group(cfg, c); err != nil {
		return nil, err
	}
	if t.process, err = t.place(d.run, spec); err != nil {
		return nil, errors.Join(err, removeGroup(t.group, killWait))
	}
	t.startedAt = time.Now()
	return t, nil
}

// newTask returns a task without a process.
func (d *Driver) newTask(cfg *drivers.TaskConfig, c *TaskConfig, as *account) *task {
	t := &task{name: cfg.Name, exit: taskstore.NewExit(), config: c, commands: map[*process.Process]bool{}}
	t.spec = process.Spec{
		Dir: cfg.TaskDir(),
		Env: environment(cfg.Env, as, slices.Concat(d.config.DeniedEnvvars, c.DeniedEnvvars)),
	}
	if as != nil {
		t.spec.Credential = as.credential
	}
	if c.WorkDir != nil {
		t.spec.Dir = *c.WorkDir
	}
	return t
}

// ended takes in how the command's process has ended.
func (t *task) ended(status process.Status, at time.Time) {
	t.exit.Set(drivers.ExitResult{
		ExitCode: status.ExitCode, Signal: status.Signal, Err: status.Err,
		OOMKilled: wasOOMKilled(t.group, status.ExitCode), PeakMemory: status.PeakRSS,
	}, at)
}

func closeFiles(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// stop sends the signal, waits, and then kills.
func (t *task) stop(ctx context.Context, timeout time.Duration, sig syscall.Signal) error {
	if timeout > 0 && t.running() {
		t.process.Remember()
		switch err := t.process.Signal(sig); {
		case errors.Is(err, os.ErrProcessDone):
		case err != nil:
			return err
		default:
			t.exit.Await(ctx, timeout)
		}
	}
	return t.kill()
}

// kill kills the process and all that it started, and waits for their end.
func (t *task) kill() error {
	if err := t.process.Kill(); err != nil {
		return err
	}
	if !t.exit.Await(context.Background(), killWait) {
		return fmt.Errorf("process did not exit after %v", killWait)
	}
	<-t.process.Gone() // which takes no longer than killing may
	return nil
}

func (t *task) running() bool { return !t.exit.Ended() }
