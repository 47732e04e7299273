package drivers

import (
	"context"

	"taskrun/jobspec/taskenv"
)

// DNS is how a task resolves names, instead of as the host does.
type DNS struct {
	Servers  []string
	Searches []string
	Options  []string
}

// NetworkManager is a driver that makes the network of a group itself, since
// its tasks can only join one that it has made.
type NetworkManager interface {
	// CreateNetwork makes a network for the tasks of an allocation. On error
	// nothing is left behind.
	CreateNetwork(ctx context.Context, req *NetworkRequest) (*NetworkIsolation, error)
	// DestroyNetwork removes it. One that is gone is no error.
	DestroyNetwork(ctx context.Context, network *NetworkIsolation) error
}

// NetworkRequest describes the network of a group.
type NetworkRequest struct {
	AllocID  string
	AllocDir string
	Mode     string         // bridge or none
	Hostname string         // empty: any
	DNS      *DNS           // nil: as the host
	Ports    []taskenv.Port // that the host hands on
}

// NetworkIsolation is a network that the tasks of an allocation share.
type NetworkIsolation struct {
	Driver    string // that made it
	ID        string // the driver's own
	Interface string // inside; empty with none
	IP        string // likewise
	Gateway   string // likewise: the machine as seen from inside
	Hostname  string
}
