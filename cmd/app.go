package cmd

import (
	"taskrun/cmd/console"
	"taskrun/cmd/lookup"
	"taskrun/cmd/preflight"
	"taskrun/drivers"
)

// app holds everything that commands share.
type app struct {
	*console.Console

	runs       *lookup.Finder
	drivers    func() map[string]drivers.Driver
	configFile string // a flag of every command

	unheeded map[string][]preflight.Unheeded // options of drivers, by driver
	healthOf *preflight.Health               // nil until first needed

	understood bool // the command line and the config are in order
}

func newApp(c *console.Console, drivers func() map[string]drivers.Driver) *app {
	return &app{Console: c, runs: lookup.NewFinder(c), drivers: drivers}
}

// health returns the health of the drivers. It asks each driver only once.
func (a *app) health() *preflight.Health {
	if a.healthOf == nil {
		a.healthOf = preflight.NewHealth(a.drivers())
	}
	return a.healthOf
}
