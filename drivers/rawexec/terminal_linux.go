package rawexec

import (
	"os"

	"golang.org/x/sys/unix"
)

// interruptible returns the terminal as a file whose Close ends pending reads
// and writes, and closes ptmx. A file of package pty blocks: a write to a
// command that does not read would never end.
func interruptible(ptmx *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(ptmx.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	closeFiles(ptmx)
	return os.NewFile(uintptr(fd), ptmx.Name()), nil
}
