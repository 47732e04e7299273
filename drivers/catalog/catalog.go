// Package catalog lists the drivers of taskrun, and checks config blocks against
// their schemas before anything runs.
package catalog

import (
	"sync"

	"taskrun/drivers"
	"taskrun/drivers/docker"
	"taskrun/drivers/exec"
	"taskrun/drivers/java"
	"taskrun/drivers/mock"
	"taskrun/drivers/podman"
	"taskrun/drivers/rawexec"
)

// New returns new drivers by name.
func New() map[string]drivers.Driver {
	byName := make(map[string]drivers.Driver)
	for _, d := range []drivers.Driver{
		rawexec.New(),
		exec.New(),
		java.New(),
		docker.New(docker.Config{}),
		podman.New(docker.Config{}),
		mock.New(),
	} {
		byName[d.Info().Name] = d
	}
	return byName
}

var all = sync.OnceValue(New)

// Has reports whether taskrun has a driver.
func Has(name string) bool { return all()[name] != nil }

// OnlyRoot reports whether there is a user with a name, and only root can start a task
// of a driver as that user.
func OnlyRoot(d drivers.Driver, user string) bool {
	r, ok := d.(*rawexec.Driver)
	return ok && r.OnlyRoot(user)
}

// Unisolated reports whether a driver isolates its tasks in Nomad but not here,
// and returns the options that therefore have no effect.
func Unisolated(d drivers.Driver) (options []string, ok bool) {
	if d, ok := d.(*rawexec.Driver); ok {
		options = d.Unisolated()
	}
	return options, options != nil
}
