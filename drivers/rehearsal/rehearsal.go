// Package rehearsal is the driver of a rehearsal: it takes the place of another
// driver, with its name, its config block and its view of the file system, and
// runs nothing. Its tasks are those of mock_driver, with a script of the
// rehearsal. They differ in one thing: a task in the role of another driver that
// is killed ends as a killed process does, not as its script says.
package rehearsal

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/hashicorp/hcl/v2/hcldec"

	"taskrun/drivers"
	"taskrun/drivers/mock"
)

// Role describes the driver that is replaced.
type Role struct {
	Name   string
	Schema hcldec.Spec // of the config block
	FS     drivers.FSIsolation
}

// RoleOf returns the role of a driver.
func RoleOf(d drivers.Driver) Role {
	return Role{Name: d.Info().Name, Schema: d.TaskConfigSchema(), FS: d.Capabilities().FSIsolation}
}

// Driver plays scripts in the role of another driver.
type Driver struct {
	*mock.Driver
	role   Role
	script func(*drivers.TaskConfig) Script
}

var _ drivers.Driver = (*Driver)(nil)

// New returns a driver without tasks. Each start of a task calls script.
func New(role Role, script func(*drivers.TaskConfig) Script) *Driver {
	d := &Driver{Driver: mock.New(), role: role, script: script}
	d.LikeProcesses = role.Name != mockName
	return d
}

const mockName = "mock_driver"

// Info returns the name of the other driver.
func (d *Driver) Info() drivers.Info { return drivers.Info{Name: d.role.Name} }

// TaskConfigSchema returns the schema of the other driver.
func (d *Driver) TaskConfigSchema() hcldec.Spec { return d.role.Schema }

// Capabilities are those of mock_driver, with the other driver's view of the file
// system and, as in Nomad, a network for each group that requests one.
func (d *Driver) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{FSIsolation: d.role.FS, MustInitiateNetwork: d.role.Name != mockName}
}

// Fingerprint reports that the driver is healthy, whether the other one is or not.
func (d *Driver) Fingerprint(ctx context.Context) (<-chan drivers.Fingerprint, error) {
	return drivers.Steady(ctx, drivers.Healthy(d.role.Name))
}

// containerIP is the address of a container that has a network of its own: one of
// Docker's usual bridge.
const containerIP = "172.17.0.2"

// StartTask starts a task that plays its script in place of its config.
func (d *Driver) StartTask(ctx context.Context, cfg *drivers.TaskConfig) (*drivers.TaskHandle, *drivers.Network, error) {
	played := *cfg
	played.Config = d.script(cfg).late(cfg.Config)
	handle, network, err := d.Driver.StartTask(ctx, &played)
	if network != nil && network.IP == "" && d.role.FS == drivers.FSIsolationImage {
		network.IP = containerIP
		if n := cfg.Network; n != nil && n.IP != "" {
			network.IP = n.IP
		}
	}
	return handle, network, err
}

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
