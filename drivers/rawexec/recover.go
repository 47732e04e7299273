package rawexec

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"taskrun/drivers"
	"taskrun/drivers/cgroup"
	"taskrun/drivers/process"
)

// handleVersion is the version of the task handles that can be read here.
const handleVersion = 1

// state identifies a task for a later instance of this program, together with
// the task's config.
type state struct {
	process.ID
	StartedAt time.Time `json:"started_at"`
	Cgroups   []string  `json:"cgroups,omitempty"` // directories of the task's own cgroup
}

func (t *task) handle(cfg *drivers.TaskConfig) (*drivers.TaskHandle, error) {
	s := state{ID: t.process.ID(), StartedAt: t.StartedAt}
	if t.group != nil {
		s.Cgroups = t.group.Dirs()
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("failed to set driver state: %w", err)
	}
	return cfg.Handle(data), nil
}

// RecoverTask finds the process of a task by its PID and start time. If only
// the intention to start it is known, RecoverTask searches for a process with
// the task's NOMAD_ALLOC_ID and NOMAD_TASK_NAME.
func (d *Driver) RecoverTask(handle *drivers.TaskHandle) error {
	if handle == nil || handle.Config == nil {
		return errors.New("cannot recover a task without a handle")
	}
	cfg := handle.Config
	if _, err := d.tasks.Get(cfg.ID); err == nil {
		return nil
	}
	_, err := d.tasks.Start(cfg.ID, func() (*task, error) { return d.recover(handle) })
	if errors.Is(err, process.ErrUnknown) {
		return drivers.ErrTaskNotFound
	}
	if err != nil {
		return fmt.Errorf("cannot recover task %q: %w", cfg.Name, err)
	}
	return nil
}

func (d *Driver) recover(handle *drivers.TaskHandle) (*task, error) {
	cfg := handle.Config
	c, err := d.decode(cfg)
	if err != nil {
		return nil, err
	}
	as, err := lookupAccount(cfg.User)
	if err != nil {
		return nil, err
	}
	t := d.newTask(cfg, c, as)
	environ := t.environ()
	s := state{StartedAt: time.Now()}
	if len(handle.DriverState) > 0 {
		if handle.Version != handleVersion {
			return nil, fmt.Errorf("its state has version %d, not %d", handle.Version, handleVersion)
		}
		if err := json.Unmarshal(handle.DriverState, &s); err != nil {
			return nil, fmt.Errorf("its state cannot be read: %w", err)
		}
	} else if s.ID, err = process.Find(environ); err != nil {
		return nil, err
	}
	if len(s.Cgroups) > 0 {
		if t.group, err = cgroup.Find(s.Cgroups); err != nil {
			t.group = nil // it does not exist after the end of the task, or after a reboot
		}
	}
	p, err := d.run.Adopt(process.Adoption{ID: s.ID, Env: environ, OnExit: t.ended, Kept: true})
	if err != nil {
		return nil, err
	}
	t.began(p, s.StartedAt)
	return t, nil
}
