package docker

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
)

// ListenIn implements drivers.NetworkUser.
func (n *networks) ListenIn(ctx context.Context, network *drivers.NetworkIsolation, address string) (net.Listener, error) {
	at, err := parse(address)
	if err != nil {
		return nil, err
	}
	l := &insideListener{network: network, at: at, all: &n.listeners}
	if err := l.listen(ctx); err != nil {
		return nil, err
	}
	n.listeners.Store(l, nil)
	return l, nil
}

// DialIn implements drivers.NetworkUser.
func (n *networks) DialIn(ctx context.Context, network *drivers.NetworkIsolation, address string) (net.Conn, error) {
	at, err := parse(address)
	if err != nil {
		return nil, err
	}
	s, err := socket(ctx, network)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := connect(ctx, s, at); err != nil {
		return nil, fmt.Errorf("cannot connect to %s in the network of the group: %w", address, err)
	}
	return net.FileConn(s)
}

// listenAgain makes the listeners in a network listen in the new one that its
// container holds.
func (n *networks) listenAgain(ctx context.Context, network *drivers.NetworkIsolation) error {
	var failures []error
	for key := range n.listeners.Range {
		if l := key.(*insideListener); l.network.ID == network.ID {
			failures = append(failures, l.listen(ctx))
		}
	}
	return errors.Join(failures...)
}

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
	info, err := daemon.Inspect(ctx, cli, network.ID)
	if err != nil || info.State == nil || info.State.Running {
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
