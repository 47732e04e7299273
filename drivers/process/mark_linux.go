package process

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
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

// markClaim is what keeps others from taking the same mark.
var markClaim *os.File

// InheritMark makes the mark that this program bears already, for its parent
// does, its own. It reports whether that is so.
func InheritMark(number uint64, claim *os.File) bool {
	marking.Lock()
	defer marking.Unlock()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MSGQUEUE, &limit); err != nil || limit.Max != number {
		return false
	}
	markNumber.Store(number)
	markClaim = claim
	return true
}

// marking guards markClaim, and the taking of the mark.
var marking sync.Mutex

// Mark takes this program's mark, unless it has one, and returns its number,
// with the file that keeps every other program from taking the same for as
// long as a process has it open. Without a mark, on a system that allows none,
// the number is 0 and the other signs have to do.
func Mark() (number uint64, claim *os.File) {
	marking.Lock()
	defer marking.Unlock()
	if markNumber.Load() == 0 {
		takeMark()
	}
	return markNumber.Load(), markClaim
}

func takeMark() {
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
		claim, free := ClaimMark(number)
		if !free {
			continue
		}
		limit = unix.Rlimit{Cur: min(limit.Cur, number), Max: number}
		if err := unix.Setrlimit(unix.RLIMIT_MSGQUEUE, &limit); err == nil {
			markNumber.Store(number)
			markClaim = claim
		}
		return
	}
}

// ClaimMark makes sure that no other run, of any user, has a mark for as long
// as the file is open, here or in another program; free reports
// whether no run had it. The file is nil when chance must do. It is a socket bound to an
// abstract name, which needs no directory and no lock and is free again
// however those programs end.
func ClaimMark(number uint64) (f *os.File, free bool) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, true
	}
	name := fmt.Sprintf("@taskrun/mark/%d", number)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		unix.Close(fd)
		return nil, !errors.Is(err, unix.EADDRINUSE)
	}
	return os.NewFile(uintptr(fd), name), true
}

// marked reports whether a process carries this program's mark.
func marked(pid int) bool { return hasMark(pid, markNumber.Load()) }

// hasMark reports whether a process carries a mark.
func hasMark(pid int, number uint64) bool {
	if number == 0 {
		return false
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_MSGQUEUE, nil, &limit); err == nil {
		return limit.Max == number
	}
	// A process that changed its user may still be looked at.
	data, err := readFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(data, []byte("Max msgqueue size"))
	fields := bytes.Fields(rest)
	return len(fields) > 1 && string(fields[1]) == strconv.FormatUint(number, 10)
}
