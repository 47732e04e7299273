package docker

import (
	"context"

	"github.com/moby/moby/client"

	"taskrun/drivers"
)

// revivalsOf returns the count of the container that holds a network.
func (n *networks) revivalsOf(network *drivers.NetworkIsolation) *revivals {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.revived[network.ID] == nil {
		n.revived[network.ID] = &revivals{}
	}
	return n.revived[network.ID]
}

// revive restarts the container that holds a network if it has ended, as it
// does when the engine stops, and listens there again. It reports whether the
// network is another one than after the given number of restarts: all tasks of
// a group may start at once, and one of them revives it for the others.
func (n *networks) revive(ctx context.Context, cli *client.Client, network *drivers.NetworkIsolation, before int) (bool, error) {
	r := n.revivalsOf(network)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count != before {
		return true, nil
	}
	info, err := cli.ContainerInspect(ctx, network.ID, client.ContainerInspectOptions{})
	if err != nil || info.Container.State == nil || info.Container.State.Running {
		return false, nil
	}
	if _, err := cli.ContainerStart(ctx, network.ID, client.ContainerStartOptions{}); err != nil {
		return false, nil
	}
	if err := n.listenAgain(ctx, network); err != nil {
		// The next task tries it again, as if the network had not been revived.
		_, _ = cli.ContainerKill(context.WithoutCancel(ctx), network.ID, client.ContainerKillOptions{Signal: "SIGKILL"})
		return false, err
	}
	r.count++
	return true, nil
}
