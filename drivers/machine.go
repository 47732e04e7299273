package drivers

import "context"

// Outsider is a driver whose tasks may have networks of their own, in which the
// loopback address of this machine is not that of the machine.
type Outsider interface {
	// Machine returns where those tasks reach this machine. It asks only once.
	Machine(ctx context.Context) (Machine, error)
	// Outside reports whether a task with a config block has a network of its
	// own or that of its group, and the labels of the ports that are forwarded
	// to the task itself.
	Outside(config map[string]any) (outside bool, ports []string)
}

// Machine is where tasks in other networks reach this machine.
type Machine struct {
	// Address is an IP address, or a name that only these tasks know.
	Address string
	// Here says that Address is one of this machine: the driver forwards ports
	// from there as well, and what listens at the loopback address only has to
	// be forwarded. Otherwise the engine does that.
	Here bool
}
