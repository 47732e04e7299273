package keeper

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"taskrun/drivers/process/keeper/early"
)

// roleVar tells a program that it is a keeper. Its values are for the keeper of
// a run in the foreground, and for that of a detached run, whose only
// descriptor is the pipe of the report.
const (
	roleVar      = early.RoleVar
	watchRole    = early.WatchRole
	detachedRole = "detached"
)

// Descriptors of a keeper.
const (
	pipeFD   = early.PipeFD
	recordFD = early.RecordFD
	lastFD   = early.LockFD
)

// More variables of keepers: the path of the record (empty for one without a
// name) or, for a detached run, the directory of records; and the working
// directory of the program.
const (
	pathVar = "TASKRUN_KEEPER_RECORD"
	dirVar  = "TASKRUN_KEEPER_DIR"
)

// stands is the prefix of the report of a run that has started.
const stands = "\x00stands"

// cleanTime limits the cleanup. After that the record stays for the user's next
// command.
const cleanTime = time.Minute

// A keeper that dies within quick of its start, maxDeaths times in a row, is
// not restarted.
const (
	quick     = time.Second
	maxDeaths = 5
)

// deathsInARow returns how many times in a row a program has died within quick
// of its start, including the latest death after the time it lived. The death
// of a program that lived longer starts a new row.
func deathsInARow(before int, lived, quick time.Duration) int {
	if lived > quick {
		return 1
	}
	return before + 1
}

// closeInherited closes the inherited descriptors above last. Some other
// program may be waiting for the end of such a pipe. Files opened since
// execve(2) have the close-on-exec flag and stay open.
func closeInherited(last int) {
	entries, _ := os.ReadDir("/dev/fd") // without /dev/fd they stay open
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= last {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}
