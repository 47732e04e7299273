package keeper

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"taskrun/drivers/process/keeper/early"
)

// The variable by which a program knows that it is a keeper, and its values for
// the keeper of a run in the foreground, and for that of a detached run, which
// has the pipe of the report as its only descriptor.
const (
	roleVar      = early.RoleVar
	watchRole    = early.WatchRole
	detachedRole = "detached"
)

// The descriptors of a keeper.
const (
	pipeFD   = early.PipeFD
	recordFD = early.RecordFD
	claimFD  = early.ClaimFD
)

// More variables of keepers: the path of the record, empty for one without, or
// the directory of records for the keeper of a detached run; and the directory
// in which that starts its program.
const (
	pathVar = "TASKRUN_KEEPER_RECORD"
	dirVar  = "TASKRUN_KEEPER_DIR"
)

// stands begins what a program reports when its run stands.
const stands = "\x00stands"

// cleanTime is how long cleaning up may take. After that the record stays, for
// the next command of the user.
const cleanTime = time.Minute

// A keeper that dies within quick of its start, maxDeaths times in a row, is not
// started again.
const (
	quick     = time.Second
	maxDeaths = 5
)

// deathsInARow returns how many times in a row a program has died within quick
// of its start, when it has just died after it lived so long. The death of one
// that lived longer is the first of a row.
func deathsInARow(before int, lived, quick time.Duration) int {
	if lived > quick {
		return 1
	}
	return before + 1
}

// closeInherited closes the descriptors after the program's own last one that it
// inherited from its ancestors: another program may wait for the end of such a
// pipe. Files that were opened since execve(2) differ by their close-on-exec
// flag, and stay open.
func closeInherited(last int) {
	entries, _ := os.ReadDir("/dev/fd") // where there is none they stay open
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
