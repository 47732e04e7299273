package tasklog

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"
)

// mkfifo makes a FIFO in the directory. Package unix has no mkfifoat for macOS, so
// the thread changes to the directory.
func (d dir) mkfifo(name string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return d.at("mkfifo", name, func(at int) error {
		if err := unix.PthreadFchdir(at); err != nil {
			return err
		}
		err := unix.Mkfifo(name, 0o600)
		return errors.Join(err, unix.PthreadFchdir(-1))
	})
}

// fionread is the request for the number of bytes in a FIFO (sys/filio.h).
const fionread = 0x4004667f
