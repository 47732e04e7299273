package rawexec

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openCgroup opens a directory of the cgroup v2 hierarchy.
func openCgroup(path string) (*os.File, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &fs); err != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
		dir.Close()
		return nil, errors.Join(err, errors.New("it is not in the cgroup v2 hierarchy"))
	}
	return dir, nil
}

// checkPlacement returns an error if this system cannot place the task as its
// config requests.
func (c *TaskConfig) checkPlacement() error { return nil }
