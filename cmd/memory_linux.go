package cmd

import (
	"os"

	"golang.org/x/sys/unix"
)

// makeInMemory makes a folder in the memory of this machine: most of what a virtual
// run does is to make folders, and to remove them. It is empty where there is little
// room, as in containers, or none.
func makeInMemory(pattern string) string {
	const (
		shared = "/dev/shm"
		room   = 256 << 20
	)
	var fs unix.Statfs_t
	if unix.Statfs(shared, &fs) != nil || fs.Type != unix.TMPFS_MAGIC || fs.Bavail*uint64(fs.Bsize) < room {
		return ""
	}
	dir, _ := os.MkdirTemp(shared, pattern) // "" on failure
	return dir
}
