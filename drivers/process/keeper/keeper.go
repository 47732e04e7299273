// Package keeper ensures that nothing is left of a run, however it ended.
//
// When a run starts its first process, the same program is executed once more
// as the run's keeper: "taskrun keeper" in the list of processes. It has its
// own session, ignores the signals that a user or a terminal sends, has no
// files of the run open, and waits at a pipe. When the program that runs the
// jobs dies (SIGKILL, a crash, out of memory) the pipe breaks: the keeper kills
// all processes of the run, searches until it finds no more, removes the
// program's files, and ends. A run that ends normally cleans up itself and
// kills its keeper. A keeper that dies first is replaced.
//
// The record of the run, a file in the user's directory of sockets, lists
// everything to clean up; see record. If both keeper and program were killed,
// the user's next command finds the record and cleans up; see FindDead.
//
// The processes of a run are found by its mark (see process.Mark), by the
// sessions of started processes, by NOMAD_ALLOC_ID in their environment, and as
// descendants of others. On macOS there is no mark: a process that has left its
// session, cleared its environment and lost its parent is not found there. On
// Linux, a process with CAP_SYS_RESOURCE can remove the mark, and escapes if it
// does all of that, too.
package keeper

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// memoryLimit is the heap size, in bytes, at which the keeper of a detached run
// starts to collect garbage.
const memoryLimit = 4 << 20

// Main does the work of a keeper if the program was executed as one, and
// reports whether it was. Call it before anything else: a program under a
// keeper takes over its connection here.
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

// settle makes this program as small, and as hard to kill by accident, as
// possible. It turns off garbage collection while it waits.
func settle() {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	all := make(chan os.Signal, 1) // an unread signal has no effect, and children do not inherit that
	signal.Notify(all, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
		syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM)
	setName("taskrun")
}

// shortRun is the length of a run for which the keeper does not return the
// memory used by initialization: that would take longer than the
// initialization.
const shortRun = time.Second

// keepForeground waits for the end of the program that runs the jobs, and
// cleans up. On Linux, package early has usually done the waiting.
func keepForeground(clean Cleaner) {
	closeInherited(lastFD)
	pipe := []unix.PollFd{{Fd: pipeFD, Events: unix.POLLIN}}
	if n, _ := unix.Poll(pipe, int(shortRun.Milliseconds())); n <= 0 {
		debug.FreeOSMemory()
	}
	for b := make([]byte, 1); ; {
		if _, err := unix.Read(pipeFD, b); err != unix.EINTR {
			break // the last writer has closed the pipe
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
		// A keeper has no output, so it reports the failure here. Parse ignores the
		// line.
		_, _ = file.WriteAt(fmt.Appendf(nil, "failure %q\n", err), c.end)
		return
	}
	_ = removeRecord(file, os.Getenv(pathVar)) // if this fails, the next command does it
}
