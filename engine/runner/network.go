package runner

import (
	"taskrun/drivers"
)

// networkManager is the driver of the group's tasks that must make its network;
// nil when there is none.
func networkManager(tasks []*task) drivers.NetworkManager {
	for _, t := range tasks {
		if m, ok := t.driver.(drivers.NetworkManager); ok && t.driver.Capabilities().MustInitiateNetwork {
			return m
		}
	}
	return nil
}

// enterNetwork tells the task of the network that its group has. Before run.
func (t *task) enterNetwork() {
	if n := t.alloc.network; n != nil && n.IP != "" {
		t.env.change().SetNetworkStatus(n.Interface, n.IP)
	}
}

// isolation is the network that the task is started in. Only tasks of the
// driver that made it can be; the others stay on that of the machine.
func (t *task) isolation() *drivers.NetworkIsolation {
	if n := t.alloc.network; n != nil && n.Driver == t.driver.Info().Name {
		return n
	}
	return nil
}
