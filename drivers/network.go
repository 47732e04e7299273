package drivers

import (
	"context"
	"net"

	"taskrun/jobspec/taskenv"
)

// DNS is how a task resolves names, instead of the host's way.
type DNS struct {
	Servers  []string
	Searches []string
	Options  []string
}

// NetworkManager is a driver that creates the network of a group, because its
// tasks can join no other.
type NetworkManager interface {
	// CreateNetwork creates a network for the tasks of an allocation. On error
	// nothing is left behind.
	CreateNetwork(ctx context.Context, req *NetworkRequest) (*NetworkIsolation, error)
	// DestroyNetwork removes a network. A missing one is no error.
	DestroyNetwork(ctx context.Context, network *NetworkIsolation) error
}

// NetworkUser is a NetworkManager whose networks the engine can use as tasks do.
type NetworkUser interface {
	// ListenIn listens at an IPv4 address and port in a network, until the
	// network is removed.
	ListenIn(ctx context.Context, network *NetworkIsolation, address string) (net.Listener, error)
	// DialIn connects to an IPv4 address and port in a network.
	DialIn(ctx context.Context, network *NetworkIsolation, address string) (net.Conn, error)
}

// NetworkRequest describes the network of a group.
type NetworkRequest struct {
	AllocID  string
	AllocDir string
	Mode     string         // bridge or none
	Name     string         // of the network with bridge, which groups of a run share; empty: the usual one
	Hostname string         // empty: any
	DNS      *DNS           // nil: as the host
	Ports    []taskenv.Port // forwarded by the host
}

// NetworkIsolation is a network that the tasks of an allocation share.
type NetworkIsolation struct {
	Driver    string // by name
	ID        string // the driver's own
	Interface string // inside; empty with none
	IP        string // inside; empty with none
	Gateway   string // the machine, as seen from inside; empty with none
	Hostname  string
	Sockets   string // directory in which the driver hands out sockets of the network; empty: it has none
}
