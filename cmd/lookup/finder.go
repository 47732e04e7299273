// Package lookup finds what a command is about: the engines, runs and tasks of a user,
// or those of a cluster.
package lookup

import (
	"os"
	"path/filepath"
	"sync"

	"taskrun/cmd/console"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/runtimedir"
)

// Finder finds the engines, runs and tasks of a user.
type Finder struct {
	*console.Console

	runtime runtimeDir
	warned  sync.Map // errors of engines that the user was told about
}

// NewFinder returns a finder that warns on a console.
func NewFinder(c *console.Console) *Finder { return &Finder{Console: c} }

// runtimeDir is the directory with the sockets of a user's runs.
type runtimeDir struct {
	once         sync.Once
	dir, warning string
	err          error
}

// Sockets returns the directory for the sockets of this user's runs. The
// directory need not exist.
func (f *Finder) Sockets() (string, error) {
	r := &f.runtime
	r.once.Do(func() {
		euid := os.Geteuid()
		r.dir, r.warning, r.err = runtimedir.Find(f.Streams.Env, euid, datadir.Default(f.Streams.Env, euid))
	})
	return r.dir, r.err
}

// MakeSockets is like Sockets, and makes the directory.
func (f *Finder) MakeSockets() (string, error) {
	dir, err := f.Sockets()
	if err == nil {
		err = runtimedir.Make(dir)
	}
	return dir, err
}

// DataDir returns the absolute path of the data directory.
func (f *Finder) DataDir(given string) (string, error) {
	if given == "" {
		given = datadir.Default(f.Streams.Env, os.Geteuid())
	}
	return filepath.Abs(given)
}

// Warning says what is wrong with the directory for sockets, after sockets; "" for
// nothing.
func (f *Finder) Warning() string { return f.runtime.warning }
