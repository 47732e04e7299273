package docker

import (
	"context"
	"errors"
	"fmt"
	"net"

	"taskrun/drivers"
)

// ListenIn implements drivers.NetworkUser.
func (n *networks) ListenIn(ctx context.Context, network *drivers.NetworkIsolation, address string) (net.Listener, error) {
	at, err := parse(address)
	if err != nil {
		return nil, err
	}
	l := &insideListener{network: network, at: at, forget: n.forget}
	if err := l.listen(ctx); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners[l] = true
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

// forget removes a listener that is closed.
func (n *networks) forget(l *insideListener) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.listeners, l)
}

// listenAgain makes the listeners in a network listen in the new one that its
// container holds.
func (n *networks) listenAgain(ctx context.Context, network *drivers.NetworkIsolation) error {
	n.mu.Lock()
	var list []*insideListener
	for l := range n.listeners {
		if l.network.ID == network.ID {
			list = append(list, l)
		}
	}
	n.mu.Unlock()
	var failures []error
	for _, l := range list {
		failures = append(failures, l.listen(ctx))
	}
	return errors.Join(failures...)
}
