package tasklog

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"
)

// mkfifo makes a FIFO in the directory by making that the thread's own, since
// package unix has no mkfifoat for macOS.
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

// fionread asks how many bytes a FIFO holds (sys/filio.h).
const fionread = 0x4004667f
