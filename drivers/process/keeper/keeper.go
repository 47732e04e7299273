// Package keeper sees to it that nothing is left of a run, whatever ended it.
//
// Beside the first process that a run starts, never before it, the same program
// is executed once more, as the run's keeper: "taskrun keeper" in the list of
// processes. It has a session of its own, ignores the signals that a user or a
// terminal sends, has none of the run's files open, and waits at a pipe. When
// the program that runs the jobs dies (SIGKILL, a crash, no memory left) the
// pipe breaks: the keeper kills all processes of the run, looks for more until
// it finds none, removes what the program left on disk, and ends. A run that
// ends by itself cleans up by itself, and kills its keeper. A keeper that dies
// first is replaced.
//
// The record of the run, a file in the user's directory of sockets, lists what
// there is to clean up; see record. When both keeper and program were killed, the
// next command of the user finds the record and does the same; see FindDead.
//
// The processes of a run are found by its mark (see process.Mark), by the
// sessions of what was started, by NOMAD_ALLOC_ID in their environment, and as
// descendants of such. On macOS there is no mark: what has left its session,
// cleared its environment and lost its parent is not found there. On Linux what
// has CAP_SYS_RESOURCE can take the mark off, and escapes when it does all of
// that, too.
package keeper

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// memoryLimit is when the keeper of a detached run begins to collect garbage.
const memoryLimit = 4 << 20

// Main does the work of a keeper if the program was executed as one, and reports
// whether it was. Call it before anything else: a program that runs under a
// keeper takes over its connection to it here.
func Main(clean Cleaner) bool {
	switch os.Getenv(roleVar) {
	case watchRole:
		settle()
		keepForeground(clean)
	case detachedRole:
		settle()
		debug.SetMemoryLimit(memoryLimit)
		debug.FreeOSMemory()
		keepDetached(clean)
	default:
		join()
		return false
	}
	return true
}

// settle makes this program as small, and as hard to end, as it has to be. While
// it waits nothing is collected.
func settle() {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	all := make(chan os.Signal, 1) // an unread signal is ignored, and children do not inherit that
	signal.Notify(all, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
		syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM)
	setName("taskrun")
}

// shortRun is how long a run lasts whose keeper does not give the memory back
// that its packages needed to begin: to find it takes longer than to begin.
const shortRun = time.Second

// keepForeground waits for the end of the program that runs the jobs, and cleans up. On
// Linux that end has usually come: package early has waited for it.
func keepForeground(clean Cleaner) {
	closeInherited(claimFD)
	pipe := []unix.PollFd{{Fd: pipeFD, Events: unix.POLLIN}}
	if n, _ := unix.Poll(pipe, int(shortRun.Milliseconds())); n <= 0 {
		debug.FreeOSMemory()
	}
	for b := make([]byte, 1); ; {
		if _, err := unix.Read(pipeFD, b); err != unix.EINTR {
			break // the pipe has no writer any more
		}
	}
	debug.SetGCPercent(100)
	file := os.NewFile(recordFD, "record")
	c, err := parse(file)
	if err != nil || c.program.PID == 0 {
		return // nothing is left
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanTime)
	defer cancel()
	if _, err := c.cleanUp(ctx, clean); err != nil {
		return
	}
	_ = removeRecord(file, os.Getenv(pathVar)) // then the next command does
}
