package rawexec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
)

// killWait is how long a process may take to end after SIGKILL.
const killWait = 15 * time.Second

// start starts the command of a task. On error nothing is left behind.
func (d *Driver) start(cfg *drivers.TaskConfig) (*task, error) {
	c, err := d.decode(cfg)
	if err != nil {
		return nil, err
	}
	as, err := lookupAccount(cfg.User)
	if err == nil {
		err = d.permit(as)
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

// permit returns an error if tasks may not run as an account or, if that is
// nil, as this program's user.
func (d *Driver) permit(as *account) error {
	if len(d.deniedUIDs) == 0 && len(d.deniedGIDs) == 0 {
		return nil
	}
	uid, gids, err := as.ids()
	if err != nil {
		return err
	}
	if d.deniedUIDs.contain(uid) {
		return fmt.Errorf("running as uid %d is disallowed: it is among denied_host_uids", uid)
	}
	for _, gid := range gids {
		if d.deniedGIDs.contain(gid) {
			return fmt.Errorf("running as uid %d with gid %d is disallowed: the group is among denied_host_gids", uid, gid)
		}
	}
	return nil
}

func (d *Driver) launch(cfg *drivers.TaskConfig, c *TaskConfig, as *account) (t *task, err error) {
	t = d.newTask(cfg, c, as)
	spec := t.spec
	spec.Env, spec.Kept = t.environ(), true
	spec.Args, spec.OnExit = c.Args, t.ended
	if err := checkDir(spec.Dir); err != nil {
		return nil, &drivers.NoCommandError{Err: err}
	}
	if spec.Path, err = lookup(cfg.TaskDir(), c.Command, as.uids()...); err != nil {
		return nil, &drivers.NoCommandError{Err: err}
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
	p, err := t.place(d.run, spec)
	if err != nil {
		return nil, errors.Join(err, t.group.Remove(killWait))
	}
	t.began(p, time.Now())
	return t, nil
}

// stop sends the signal, waits, and then kills.
func (t *task) stop(ctx context.Context, timeout time.Duration, sig syscall.Signal) error {
	if timeout > 0 && !t.Ended() {
		t.process.Remember()
		switch err := t.process.Signal(sig); {
		case errors.Is(err, os.ErrProcessDone):
		case err != nil:
			return err
		default:
			t.Await(ctx, timeout)
		}
	}
	return t.kill()
}

// kill kills the process and its descendants, and waits for their end.
func (t *task) kill() error {
	if err := t.process.Kill(); err != nil {
		return err
	}
	if !t.Await(context.Background(), killWait) {
		return fmt.Errorf("process did not exit after %v", killWait)
	}
	<-t.process.Gone() // limited by the time that killing may take
	return nil
}

// decode reads the config block of a task.
func (d *Driver) decode(cfg *drivers.TaskConfig) (*TaskConfig, error) {
	if cfg.Config == cty.NilVal || !cfg.Config.Type().IsObjectType() || cfg.Config.IsNull() {
		return nil, errors.New("failed to decode driver config: it is not an object")
	}
	c, err := d.kind.Decode(cfg.Config, cfg.TaskDir())
	if err != nil {
		return nil, err
	}
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("failed driver config validation: %w", err)
	}
	return c, nil
}

func (c *TaskConfig) validate() error {
	switch {
	case c.Command == "":
		return errors.New("command must not be empty")
	case c.CgroupV1Override != nil && c.CgroupV2Override != nil:
		return errors.New("only one of cgroups_v1_override and cgroups_v2_override may be set")
	case c.OOMScoreAdj != nil && *c.OOMScoreAdj < 0:
		return errors.New("oom_score_adj must not be negative")
	case c.OOMScoreAdj != nil && *c.OOMScoreAdj > 1000:
		return errors.New("oom_score_adj must not be greater than 1000")
	case c.WorkDir != nil && !filepath.IsAbs(*c.WorkDir):
		return errors.New("work_dir must be an absolute path")
	}
	return c.checkPlacement()
}
