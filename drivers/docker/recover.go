package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
)

// driverState is the DriverState of a handle.
type driverState struct {
	Container string `json:"container_id"`
}

func (t *task) handle() *drivers.TaskHandle {
	data, _ := json.Marshal(driverState{t.container}) // a string can always be marshaled
	return t.cfg.Handle(data)
}

// RecoverTask finds the container of a task, even if it has ended, and copies
// the output since the last instance.
func (d *Driver) RecoverTask(handle *drivers.TaskHandle) error {
	if handle == nil || handle.Config == nil {
		return errors.New("cannot recover a task without a handle")
	}
	cfg := handle.Config
	if _, err := d.tasks.Running(cfg.ID); err == nil {
		return nil
	}
	cli, err := d.connect()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), daemon.ReplyTime)
	defer cancel()
	info, err := findTask(ctx, cli, handle)
	if err != nil {
		return err
	}
	if info.State.Status == container.StateCreated { // it was never started
		if err := daemon.Remove(ctx, cli, info.ID); err != nil {
			return err
		}
		return drivers.ErrTaskNotFound
	}
	t := d.newTask(cli, cfg, info.ID)
	if t.output, err = openOutput(cfg, true); err != nil {
		return err
	}
	t.tty, t.started = info.Config.Tty, true
	if info.HostConfig != nil {
		t.mute = d.options.Mute(info.HostConfig.LogConfig)
	}
	if t.StartedAt, err = time.Parse(time.RFC3339Nano, info.State.StartedAt); err != nil {
		t.StartedAt = time.Now()
	}
	d.adopt(info.Config.Labels[daemon.LabelRun])
	d.tasks.Put(cfg.ID, t)
	if !info.State.Running {
		t.watching.Go(func() { t.endedAs(info.State) })
		return nil
	}
	t.resume()
	wait := cli.ContainerWait(t.interest, info.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	t.watching.Go(func() { t.watch(wait) })
	return nil
}

// findTask returns the container of a task by its ID or, if that is unknown, by
// its label.
func findTask(ctx context.Context, cli *client.Client, handle *drivers.TaskHandle) (container.InspectResponse, error) {
	var none container.InspectResponse
	var s driverState
	if len(handle.DriverState) > 0 {
		if err := json.Unmarshal(handle.DriverState, &s); err != nil {
			return none, fmt.Errorf("cannot recover task %q: its state cannot be read: %w", handle.Config.ID, err)
		}
	} else {
		found, err := daemon.List(ctx, cli, daemon.LabelTask+"="+handle.Config.ID)
		if err != nil {
			return none, daemon.Error("cannot look for the container of task "+handle.Config.ID, err)
		}
		if len(found) == 0 {
			return none, drivers.ErrTaskNotFound
		}
		s.Container = found[0].ID
	}
	info, err := daemon.Inspect(ctx, cli, s.Container)
	switch {
	case errdefs.IsNotFound(err):
		return none, drivers.ErrTaskNotFound
	case err != nil:
		return none, daemon.Error("cannot inspect container "+daemon.ShortID(s.Container), err)
	case info.State == nil || info.Config == nil:
		return none, fmt.Errorf("the engine has no state of container %s", daemon.ShortID(s.Container))
	}
	return info, nil
}
