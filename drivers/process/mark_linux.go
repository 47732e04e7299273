package process

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// This program's mark: it lowers its own hard limit of POSIX message queues
// (RLIMIT_MSGQUEUE, in bytes, of little use to anyone) to a number of its own.
// Every descendant inherits the limit, and none can raise it without
// CAP_SYS_RESOURCE. A program that runs inside a task of another run starts
// from that run's number and draws a lower one.

// markSpan is how far a limit is lowered at most, 2 % of the usual 819200.
const markSpan = 1 << 14

// markNumber is this program's mark, 0 if it has none.
var markNumber atomic.Uint64

// mark takes a mark, once. Without one, on a system that allows none, the
// other signs have to do.
func mark() {
	if markNumber.Load() != 0 {
		return
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MSGQUEUE, &limit); err != nil {
		return
	}
	top := min(limit.Max, 1<<40) // it may be infinite
	if top <= markSpan {
		return
	}
	for range 100 {
		number := top - 1 - rand.Uint64N(markSpan)
		if number%1024 == 0 { // might be a limit that somebody set
			continue
		}
		if !claim(number) {
			continue
		}
		limit = unix.Rlimit{Cur: min(limit.Cur, number), Max: number}
		if err := unix.Setrlimit(unix.RLIMIT_MSGQUEUE, &limit); err == nil {
			markNumber.Store(number)
		}
		return
	}
}

// claim makes sure that no other program that lives has the number. It binds a
// socket to an abstract name, which needs no file and no lock and is free
// again when this program ends, however it ends.
func claim(number uint64) bool {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return true // then chance must do
	}
	name := fmt.Sprintf("@taskrun/%d/mark/%d", os.Getuid(), number)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		unix.Close(fd)
		return !errors.Is(err, unix.EADDRINUSE)
	}
	return true // and the socket stays open
}

// marked reports whether a process carries this program's mark.
func marked(pid int) bool {
	number := markNumber.Load()
	if number == 0 {
		return false
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_MSGQUEUE, nil, &limit); err == nil {
		return limit.Max == number
	}
	// A process that changed its user may still be looked at.
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(data, []byte("Max msgqueue size"))
	fields := bytes.Fields(rest)
	return len(fields) > 1 && string(fields[1]) == strconv.FormatUint(number, 10)
}
