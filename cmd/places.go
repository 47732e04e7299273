package cmd

import (
	"os"
	"path/filepath"
	"sync"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/runtimedir"
)

// meeting is the directory in which the runs of this user meet, once it was
// looked for.
type meeting struct {
	once         sync.Once
	dir, warning string
	err          error
}

// sockets returns the directory in which the runs of this user are found. It
// need not exist.
func (a *app) sockets() (string, error) {
	m := &a.meeting
	m.once.Do(func() {
		euid := os.Geteuid()
		m.dir, m.warning, m.err = runtimedir.Find(a.streams.Env, euid, allocdir.DefaultDataDir(a.streams.Env, euid))
	})
	return m.dir, m.err
}

// dataDir returns the absolute path of the data directory.
func (a *app) dataDir(given string) (string, error) {
	if given == "" {
		given = allocdir.DefaultDataDir(a.streams.Env, os.Geteuid())
	}
	return filepath.Abs(given)
}

// portDir is where the runs of this user tell each other of their ports; "" for
// nowhere.
func portDir(a *app) string {
	dir, err := a.sockets()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "ports")
}
