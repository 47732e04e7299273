// Package catalog lists the drivers of taskrun, and checks config blocks
// against what they understand before anything runs.
package catalog

import (
	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/drivers/rawexec"
)

// New returns new drivers by name.
func New() map[string]drivers.Driver {
	byName := make(map[string]drivers.Driver)
	for _, d := range []drivers.Driver{
		rawexec.New(rawexec.Config{}),
		mock.New(),
	} {
		byName[d.Info().Name] = d
	}
	return byName
}
