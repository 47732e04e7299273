package rehearsal

import (
	"context"
	"fmt"
	"hash/fnv"

	"taskrun/drivers"
)

var _ drivers.NetworkManager = (*Driver)(nil)

// CreateNetwork returns a network that exists in the rehearsal only. Its addresses
// are those of the bridge of a Nomad client, and the same in each run of a seed.
func (d *Driver) CreateNetwork(_ context.Context, req *drivers.NetworkRequest) (*drivers.NetworkIsolation, error) {
	n := &drivers.NetworkIsolation{Driver: d.role.Name, ID: req.AllocID, Hostname: req.Hostname}
	if req.Mode != "none" {
		h := fnv.New32a()
		_, _ = h.Write([]byte(req.AllocID)) // never fails
		host := h.Sum32() % bridgeHosts
		n.Interface, n.Gateway = "eth0", "172.26.64.1"
		n.IP = fmt.Sprintf("172.26.%d.%d", 64+host/250, 2+host%250)
	}
	return n, nil
}

// bridgeHosts is how many addresses a rehearsal gives out: less than there are in
// 172.26.64.0/20.
const bridgeHosts = 16 * 250

// DestroyNetwork does nothing.
func (d *Driver) DestroyNetwork(context.Context, *drivers.NetworkIsolation) error { return nil }
