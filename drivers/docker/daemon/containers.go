package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// RemoveRun removes the containers and networks of a run. It returns the number
// of containers. It looks again until it finds
// none, since a start may be in progress.
func RemoveRun(ctx context.Context, cli *client.Client, run string) (removed int, err error) {
	for {
		list, err := List(ctx, cli, LabelRun+"="+run)
		if err != nil {
			return removed, fmt.Errorf("cannot list the containers of run %s: %w", run, err)
		}
		if len(list) == 0 {
			return removed, removeNetworks(ctx, cli, run)
		}
		var failures []error
		for _, c := range list {
			if err := Remove(ctx, cli, c.ID); err != nil {
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

// List returns the containers with a label ("name" or "name=value"), running or
// stopped. Those that hold a network come last, because Podman does not remove a
// container that others depend on.
func List(ctx context.Context, cli *client.Client, label string) ([]container.Summary, error) {
	list, err := cli.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", label)})
	slices.SortStableFunc(list.Items, func(a, b container.Summary) int {
		return cmp.Compare(len(b.Labels[LabelTask]), len(a.Labels[LabelTask]))
	})
	return list.Items, err
}

// Remove kills a container and removes it. A container that does not exist is
// no error. If the engine is already removing it, Remove waits for that.
func Remove(ctx context.Context, cli *client.Client, id string) error {
	return whileEnding(ctx, stateImproper, func() error { return remove(ctx, cli, id) })
}

// Inspect describes a container.
func Inspect(ctx context.Context, cli *client.Client, id string) (container.InspectResponse, error) {
	var info client.ContainerInspectResult
	err := whileEnding(ctx, processGone, func() (err error) {
		info, err = cli.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
		return err
	})
	return info.Container, err
}

// whileEnding tries again, for about a second, while the error contains Podman's
// words for a container that is ending.
func whileEnding(ctx context.Context, words string, try func() error) error {
	for pause := 50 * time.Millisecond; ; pause *= 2 {
		err := try()
		if !says(err, words) || pause > time.Second {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

func remove(ctx context.Context, cli *client.Client, id string) error {
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
	return fmt.Errorf("cannot remove container %s: %w", ShortID(id), err)
}

// ShortID returns the part of a container's ID that the docker command shows.
func ShortID(id string) string { return id[:min(12, len(id))] }
