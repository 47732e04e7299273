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

// The mark of a run: this program lowers its own hard limit of POSIX message
// queues (RLIMIT_MSGQUEUE, in bytes, which hardly any program uses) to a unique
// number. All descendants inherit the limit, and cannot raise it without
// CAP_SYS_RESOURCE. A program that runs inside a task of another run starts
// from that run's number and draws a lower one.

// markSpan limits how far the limit is lowered: 2 % of the usual 819200.
const markSpan = 1 << 14

// markNumber is this program's mark, or 0.
var markNumber atomic.Uint64

// markClaim reserves the mark while it is open.
var markClaim *os.File

// InheritMark adopts a mark that this program has inherited from its parent. It
// reports whether the program has that mark.
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

// marking guards markClaim and the choice of a mark.
var marking sync.Mutex

// Mark gives this program a mark, unless it has one. It returns the number, and
// the file that reserves it as long as any process has it open. If the system
// allows no mark, the number is 0, and other evidence must suffice.
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
		if number%1024 == 0 { // might be a limit that a user has set
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

// ClaimMark reserves a mark, for all users, as long as the file is open in any
// program. Free is false if another run has the mark. The file is nil if the
// mark cannot be reserved. It is a socket bound to an abstract name, which
// needs no directory and no lock, and is released however the programs end.
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

// marked reports whether a process has this program's mark.
func marked(pid int) bool { return hasMark(pid, markNumber.Load()) }

// hasMark reports whether a process has a mark. One of another user has none, unless
// root asks: the user may have copied the number, and could not be stopped anyway.
func hasMark(pid int, number uint64) bool {
	if number == 0 {
		return false
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_MSGQUEUE, nil, &limit); err == nil {
		return limit.Max == number
	}
	// This works even for a process that changed its group.
	data, err := readFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(data, []byte("Max msgqueue size"))
	fields := bytes.Fields(rest)
	return len(fields) > 1 && string(fields[1]) == strconv.FormatUint(number, 10) && (os.Geteuid() == 0 || isOurs(pid))
}

// isOurs reports whether a process has the real user ID of this program.
func isOurs(pid int) bool {
	data, err := readFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(data, []byte("\nUid:"))
	fields := bytes.Fields(rest)
	return len(fields) > 0 && string(fields[0]) == strconv.Itoa(os.Getuid())
}
