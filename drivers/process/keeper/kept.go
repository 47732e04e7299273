package keeper

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/runtimedir"
)

// Sockets returns the sockets of the runs that live of which there is a record
// in a directory. While one does not answer the run's keeper is about to
// start the program again, or to clean up after it.
func Sockets(dir string) (sockets []string) {
	if runtimedir.Check(dir) != nil {
		return nil
	}
	records, _ := filepath.Glob(filepath.Join(dir, "*"+suffix)) // the pattern is well-formed
	for _, path := range records {
		sockets = append(sockets, socketsOf(path)...)
	}
	return sockets
}

// Keeps reports whether a run that lives has a socket.
func Keeps(dir, socket string) bool { return slices.Contains(Sockets(dir), socket) }

// socketsOf returns those of a record that is locked, and none of any other.
func socketsOf(path string) []string {
	f, err := runtimedir.OpenFile(path, os.O_RDONLY)
	if err != nil {
		return nil // it is just gone, or another user's
	}
	defer f.Close()
	if runtimedir.Flock(f, unix.LOCK_SH|unix.LOCK_NB) == nil {
		return nil // that of a dead run
	}
	c, err := parse(f)
	if err != nil {
		return nil
	}
	return c.sockets
}
