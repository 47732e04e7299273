package dockertest

import (
	"bufio"
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

// unmount unmounts all that an engine has left mounted below a directory.
func unmount(dir string) error {
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		return err
	}
	defer f.Close()
	var mounts []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && strings.HasPrefix(fields[1], dir+"/") {
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
