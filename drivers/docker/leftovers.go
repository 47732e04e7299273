package docker

import (
	"context"
	"strings"

	"github.com/moby/moby/client"

	"taskrun/drivers"
)

var _ drivers.Finder = (*Driver)(nil)

// Leftovers returns the containers of all runs.
func (d *Driver) Leftovers(ctx context.Context) ([]drivers.Leftover, error) {
	cli, err := d.connect()
	if err != nil {
		return nil, err
	}
	found, err := cli.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", labelRun)})
	if err != nil {
		return nil, engineError("cannot list the containers of taskrun", err)
	}
	left := make([]drivers.Leftover, 0, len(found.Items))
	for _, c := range found.Items {
		name := shortID(c.ID)
		if len(c.Names) > 0 {
			name = strings.TrimPrefix(c.Names[0], "/")
		}
		left = append(left, drivers.Leftover{ID: c.ID, Name: name, AllocDir: c.Labels[labelDir]})
	}
	return left, nil
}

// RemoveLeftover removes a container, with the volumes that have no name.
func (d *Driver) RemoveLeftover(ctx context.Context, l drivers.Leftover) error {
	cli, err := d.connect()
	if err != nil {
		return err
	}
	return removeContainer(ctx, cli, l.ID)
}
