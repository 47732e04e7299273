package docker

import (
	"context"
	"strings"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
)

// Leftovers returns the containers of all runs.
func (e *engine) Leftovers(ctx context.Context) ([]drivers.Leftover, error) {
	cli, err := e.connect()
	if err != nil {
		return nil, err
	}
	found, err := daemon.List(ctx, cli, daemon.LabelRun)
	if err != nil {
		return nil, daemon.Error("cannot list the containers of taskrun", err)
	}
	left := make([]drivers.Leftover, 0, len(found))
	for _, c := range found {
		name := daemon.ShortID(c.ID)
		if len(c.Names) > 0 {
			name = strings.TrimPrefix(c.Names[0], "/")
		}
		left = append(left, drivers.Leftover{ID: c.ID, Name: name, AllocDir: c.Labels[daemon.LabelDir]})
	}
	return left, nil
}

// RemoveLeftover removes a container, with its anonymous volumes and the network
// that it was the last one to share.
func (n *networks) RemoveLeftover(ctx context.Context, l drivers.Leftover) error {
	cli, err := n.engine.connect()
	if err != nil {
		return err
	}
	return n.remove(ctx, cli, l.ID)
}
