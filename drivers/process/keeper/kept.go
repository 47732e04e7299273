package keeper

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/runtimedir"
)

// Sockets returns the sockets of running runs with a record in a directory. If
// a socket does not answer, the run's keeper is about to restart the program,
// or to clean up.
func Sockets(dir string) (sockets []string) {
	if runtimedir.Check(dir) != nil {
		return nil
	}
	records, _ := filepath.Glob(filepath.Join(dir, "*"+suffix)) // the pattern is valid
	for _, path := range records {
		sockets = append(sockets, socketsOf(path)...)
	}
	return sockets
}

// socketsOf returns the sockets in a locked record, and none for any other
// file.
func socketsOf(path string) []string {
	f, err := runtimedir.OpenFile(path, os.O_RDONLY)
	if err != nil {
		return nil // it is just gone, or belongs to another user
	}
	defer f.Close()
	if runtimedir.Flock(f, unix.LOCK_SH|unix.LOCK_NB) == nil {
		return nil // the run is dead
	}
	c, err := parse(f)
	if err != nil {
		return nil
	}
	return c.sockets
}
