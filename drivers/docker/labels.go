package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"taskrun/drivers"
)

// The labels of what is made in the engine. The first is Nomad's.
const (
	labelAlloc = "com.hashicorp.nomad.alloc_id"
	labelRun   = "taskrun.run"       // Config.Run
	labelTask  = "taskrun.task"      // drivers.TaskConfig.ID
	labelDir   = "taskrun.alloc_dir" // directory of the allocation
)

func (b *builder) labels(cfg *drivers.TaskConfig) map[string]string {
	return map[string]string{
		labelAlloc: cfg.AllocID,
		labelRun:   b.run,
		labelTask:  cfg.ID,
		labelDir:   cfg.AllocDir,
	}
}

// removeRun removes until a look finds nothing: a start may be under way.
func removeRun(ctx context.Context, cli *client.Client, run string) (removed int, err error) {
	for {
		list, err := findContainers(ctx, cli, labelRun, run)
		if err != nil {
			return removed, fmt.Errorf("cannot list the containers of run %s: %w", run, err)
		}
		if len(list) == 0 {
			return removed, nil
		}
		var failures []error
		for _, id := range list {
			if err := removeContainer(ctx, cli, id); err != nil {
				failures = append(failures, err)
			} else {
				removed++
			}
		}
		if len(failures) > 0 {
			return removed, errors.Join(failures...)
		}
	}
}

// findContainers returns the IDs of containers with a label, those that have ended too.
func findContainers(ctx context.Context, cli *client.Client, label, value string) ([]string, error) {
	list, err := cli.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: client.Filters{}.Add("label", label+"="+value),
	})
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(list.Items))
	for _, c := range list.Items {
		ids = append(ids, c.ID)
	}
	return ids, nil
}

// removeContainer kills a container and removes it. One that is gone already
// is no error; one that is being removed is waited for.
func removeContainer(ctx context.Context, cli *client.Client, id string) error {
	_, err := cli.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if errdefs.IsConflict(err) {
		wait := cli.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: container.WaitConditionRemoved})
		select {
		case <-wait.Result:
			return nil
		case err = <-wait.Error:
		}
	}
	if err == nil || errdefs.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("cannot remove container %s: %w", shortID(id), err)
}

func shortID(id string) string { return id[:min(12, len(id))] }
