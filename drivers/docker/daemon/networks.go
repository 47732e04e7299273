package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// MakeNetwork makes a network for the run with a directory, or finds that of the
// run. It returns the value of LabelRun.
func MakeNetwork(ctx context.Context, cli *client.Client, name, run, dir string) (string, error) {
	info, err := cli.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	switch {
	case err == nil && info.Network.Labels[LabelDir] == dir:
		return info.Network.Labels[LabelRun], nil
	case err == nil:
		return "", fmt.Errorf("cannot make network %q: the engine has one of that name, which is not of this run; remove it, or give the network in the job another name", name)
	case !errdefs.IsNotFound(err):
		return "", Error(fmt.Sprintf("cannot look for network %q", name), err)
	}
	_, err = cli.NetworkCreate(ctx, name, client.NetworkCreateOptions{
		Driver: "bridge", Labels: map[string]string{LabelRun: run, LabelDir: dir},
	})
	if err != nil {
		return "", Error(fmt.Sprintf("cannot make network %q", name), err)
	}
	return run, nil
}

// RemoveUnused removes a network of taskrun, unless containers use it.
func RemoveUnused(ctx context.Context, cli *client.Client, name string) error {
	info, err := cli.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	if errdefs.IsNotFound(err) {
		return nil
	}
	if err != nil || info.Network.Labels[LabelRun] == "" || len(info.Network.Containers) > 0 {
		return err
	}
	return removeNetwork(ctx, cli, info.Network.ID, name)
}

// removeNetworks removes the networks of a run.
func removeNetworks(ctx context.Context, cli *client.Client, run string) error {
	list, err := cli.NetworkList(ctx, client.NetworkListOptions{Filters: client.Filters{}.Add("label", LabelRun+"="+run)})
	if err != nil {
		return fmt.Errorf("cannot list the networks of run %s: %w", run, err)
	}
	var failures []error
	for _, n := range list.Items {
		failures = append(failures, removeNetwork(ctx, cli, n.ID, n.Name))
	}
	return errors.Join(failures...)
}

func removeNetwork(ctx context.Context, cli *client.Client, id, name string) error {
	_, err := cli.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
	if err == nil || errdefs.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("cannot remove network %q: %w", name, err)
}
