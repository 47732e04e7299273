package cmd

import (
	"os"
	"path/filepath"
	"sync"

	"taskrun/cmd/preflight"
	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/runtimedir"
)

// app holds everything that commands share.
type app struct {
	*console

	drivers    func() map[string]drivers.Driver
	configFile string // a flag of every command

	unheeded map[string][]preflight.Unheeded // options of drivers, by driver
	healthOf *preflight.Health               // nil until first needed

	runtime runtimeDir

	warned sync.Map // errors of engines that the user was told about

	understood bool // the command line and the config are in order
}

// runtimeDir is the directory with the sockets of a user's runs.
type runtimeDir struct {
	once         sync.Once
	dir, warning string
	err          error
}

// sockets returns the directory for the sockets of this user's runs. The
// directory need not exist.
func (a *app) sockets() (string, error) {
	r := &a.runtime
	r.once.Do(func() {
		euid := os.Geteuid()
		r.dir, r.warning, r.err = runtimedir.Find(a.streams.Env, euid, allocdir.DefaultDataDir(a.streams.Env, euid))
	})
	return r.dir, r.err
}

// dataDir returns the absolute path of the data directory.
func (a *app) dataDir(given string) (string, error) {
	if given == "" {
		given = allocdir.DefaultDataDir(a.streams.Env, os.Geteuid())
	}
	return filepath.Abs(given)
}

// health returns the health of the drivers. It asks each driver only once.
func (a *app) health() *preflight.Health {
	if a.healthOf == nil {
		a.healthOf = preflight.NewHealth(a.drivers())
	}
	return a.healthOf
}
