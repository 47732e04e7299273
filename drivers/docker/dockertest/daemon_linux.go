package dockertest

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
)

// apart gives an engine a network of its own.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Setsid: true}
}

// unmount unmounts everything that an engine has left mounted below a directory.
func unmount(dir string) error {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	var mounts []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && strings.HasPrefix(fields[1], dir+"/") {
			mounts = append(mounts, fields[1])
		}
	}
	slices.Sort(mounts)
	var errs []error
	for _, m := range slices.Backward(mounts) { // the deepest first
		errs = append(errs, syscall.Unmount(m, syscall.MNT_DETACH))
	}
	return errors.Join(errs...)
}
