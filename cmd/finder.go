package cmd

import (
	"os"
	"path/filepath"
	"sync"

	"taskrun/cmd/console"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/runtimedir"
)

// runFinder finds the engines, runs and tasks of a user.
type runFinder struct {
	*console.Console

	runtime runtimeDir
	warned  sync.Map // errors of engines that the user was told about
}

func newFinder(c *console.Console) *runFinder { return &runFinder{Console: c} }

// runtimeDir is the directory with the sockets of a user's runs.
type runtimeDir struct {
	once         sync.Once
	dir, warning string
	err          error
}

// sockets returns the directory for the sockets of this user's runs. The
// directory need not exist.
func (f *runFinder) sockets() (string, error) {
	r := &f.runtime
	r.once.Do(func() {
		euid := os.Geteuid()
		r.dir, r.warning, r.err = runtimedir.Find(f.Streams.Env, euid, allocdir.DefaultDataDir(f.Streams.Env, euid))
	})
	return r.dir, r.err
}

// dataDir returns the absolute path of the data directory.
func (f *runFinder) dataDir(given string) (string, error) {
	if given == "" {
		given = allocdir.DefaultDataDir(f.Streams.Env, os.Geteuid())
	}
	return filepath.Abs(given)
}

// warning says what is wrong with the directory for sockets, after sockets; "" for
// nothing.
func (f *runFinder) warning() string { return f.runtime.warning }
