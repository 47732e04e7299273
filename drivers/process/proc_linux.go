package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stat reads /proc/PID/stat, see proc_pid_stat(5). ok is false if the process
// does not exist.
func stat(pid int) (proc, bool) { return parseStat(pid, statFields(pid)) }

// Suspended reports whether a process is stopped, for example by Ctrl-Z.
func Suspended(pid int) bool {
	fields := statFields(pid)
	return len(fields) > 0 && fields[0][0] == 'T'
}

// statFields returns the fields of /proc/PID/stat from the third one, the
// state.
func statFields(pid int) [][]byte {
	data, err := readFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return splitStat(data)
}

// readFile is like os.ReadFile for files in /proc, with a third of the system
// calls. A scan reads one or two files of every process.
func readFile(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	data := make([]byte, 0, 1024)
	for {
		data = slices.Grow(data, 512)
		n, err := unix.Read(fd, data[len(data):cap(data)])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		case n == 0:
			return data, nil
		default:
			data = data[:len(data)+n]
		}
	}
}

// splitStat removes the first two fields. The second is the program's name in
// parentheses, which may contain any byte.
func splitStat(data []byte) [][]byte {
	return bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
}

func parseStat(pid int, fields [][]byte) (p proc, ok bool) {
	if len(fields) < 20 {
		return p, false
	}
	number := func(field int) uint64 {
		n, err := strconv.ParseUint(string(fields[field-3]), 10, 64)
		ok = ok && err == nil
		return n
	}
	ok = true
	p = proc{
		ID:      ID{PID: pid, Start: number(22)},
		ppid:    int(number(4)),
		session: int(number(6)),
	}
	// The first thread may have ended while others are running.
	const exiting = 0x4 // PF_EXITING
	state := fields[0][0]
	p.ended = (state == 'X' || state == 'Z' || number(9)&exiting != 0) && number(20) <= 1
	return p, ok
}

// table returns all processes.
func table() map[int]proc { return tableOf(func(int) bool { return true }) }

// outsiders returns the processes that may belong to a run that started at
// since. It skips this program's session, sessions whose leader is alive and
// older than since, and session 0, which contains the kernel's processes and,
// in a container, those of sessions from outside. The run cannot have processes
// in any of these: it starts each one in a new session, and their descendants
// can only create more.
func outsiders(since uint64) map[int]proc {
	older := map[int]bool{} // by session
	return tableOf(func(pid int) bool {
		session, err := unix.Getsid(pid)
		if err != nil || session == 0 || session == ownSession() {
			return false
		}
		if _, known := older[session]; !known {
			leader, ok := stat(session) // its PID is not reused while the session exists
			older[session] = ok && leader.Start < since
		}
		return !older[session]
	})
}

// tableOf returns the processes whose PIDs are wanted.
func tableOf(wanted func(pid int) bool) map[int]proc {
	all := map[int]proc{}
	names, _ := namesIn("/proc")
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || !wanted(pid) {
			continue
		}
		if p, ok := stat(pid); ok {
			all[pid] = p
		}
	}
	return all
}

// strays returns the children that this process, or its keeper unless that is
// 0, may have adopted: orphans become children of its first thread. Some of the
// results were started here.
func strays(keeper int) []int {
	self := os.Getpid()
	pids := childrenOfFirstThread(self)
	if keeper == 0 {
		return pids
	}
	for _, pid := range childrenOfFirstThread(keeper) {
		if pid != self {
			pids = append(pids, pid)
		}
	}
	return pids
}

func childrenOfFirstThread(pid int) []int {
	if !hasChildrenFiles() {
		return childrenByTable(table(), pid)
	}
	process := strconv.Itoa(pid)
	pids, _ := childrenOfThread(process, process)
	return pids
}

// hasOwnProgram reports whether a process executes the same file as this
// program, like one that this program, or an earlier instance, has just forked.
func hasOwnProgram(pid int) bool {
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false
	}
	own, err := os.Readlink("/proc/self/exe")
	return err == nil && own == theirs
}

// strayTree returns an orphan and its descendants. This process or its keeper
// is notified when they end.
func strayTree(pid int) []proc { return treeOf(pid) }

// treeOf returns a process and its descendants, parents first, or nothing if
// the process does not exist.
func treeOf(pid int) []proc {
	var tree []proc
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		p, ok := stat(next[0])
		if !ok {
			continue
		}
		tree = append(tree, p)
		next = append(next, children(p.PID)...)
	}
	return tree
}

func children(pid int) []int {
	if !hasChildrenFiles() {
		return childrenByTable(table(), pid)
	}
	var pids []int
	threads, _ := namesIn(fmt.Sprintf("/proc/%d/task", pid))
	for _, thread := range threads {
		found, _ := childrenOfThread(strconv.Itoa(pid), thread)
		pids = append(pids, found...)
	}
	return pids
}

// childrenOfThread returns the children of a thread, sorted; some may have been
// reaped meanwhile. Linux leaves some out when others are reaped while it writes
// the list, so that is read until two readings agree, and all of them count.
func childrenOfThread(process, thread string) (pids []int, err error) {
	path := "/proc/" + process + "/task/" + thread + "/children"
	var last []int
	for range 10 {
		data, err := readFile(path)
		if err != nil {
			return nil, err
		}
		now := numbers(data)
		if len(now) == 0 || slices.Equal(now, last) {
			break
		}
		pids, last = append(pids, now...), now
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil
}

// ownChildren returns the children of this process, except those of threads
// created meanwhile; all is false if there may be others. The first thread
// comes last, because it gets the orphans, and the children of a thread that
// ends.
func ownChildren() (pids []int, all bool) {
	var adopts int32
	if err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&adopts)), 0, 0, 0); err != nil || adopts == 0 {
		return nil, false
	}
	threads, err := namesIn("/proc/self/task")
	if err != nil {
		return nil, false
	}
	first := strconv.Itoa(os.Getpid())
	others := slices.DeleteFunc(slices.Clone(threads), func(thread string) bool { return thread == first })
	for _, thread := range append(others, first) {
		found, err := childrenOfThread("self", thread)
		if err != nil {
			return nil, false
		}
		pids = append(pids, found...)
	}
	// If a thread has ended, another one may be missing.
	now, err := namesIn("/proc/self/task")
	ended := slices.ContainsFunc(threads, func(thread string) bool { return !slices.Contains(now, thread) })
	return pids, err == nil && slices.Contains(threads, first) && !ended
}

// namesIn returns the names in a directory of /proc, sorted. On error it
// returns those that it could read.
func namesIn(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// numbers parses the numbers in a file, separated by spaces.
func numbers(data []byte) []int {
	fields := strings.Fields(string(data))
	pids := make([]int, 0, len(fields))
	for _, field := range fields {
		if child, err := strconv.Atoi(field); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

// hasChildrenFiles reports whether the kernel was built with
// CONFIG_PROC_CHILDREN, like those of most distributions.
var hasChildrenFiles = sync.OnceValue(func() bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	return err == nil
})

// environ returns the initial environment of the process, if this user may read
// it; sure is false if the process is in execve(2) and the environment may
// change.
func (p proc) environ() (env []string, sure bool) {
	path := "/proc/" + strconv.Itoa(p.PID) + "/environ"
	data, err := readFile(path)
	if err != nil {
		return nil, true
	}
	if len(data) == 0 {
		// The environment is empty, or not set up yet.
		before := imageOf(p.PID)
		data, _ = readFile(path)
		sure = before != "" && before == imageOf(p.PID)
	}
	return strings.Split(string(data), "\x00"), sure || len(data) > 0
}

// commandLine returns the arguments of a process or, if it has none, its name
// in brackets.
func commandLine(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if line := shown(string(data)); line != "" {
		return line
	}
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return "[" + shown(string(name)) + "]"
}

// lastBegun returns the PID of the latest process, or "" if unknown; see
// proc_loadavg(5).
func lastBegun() string {
	data, err := readFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return string(data[bytes.LastIndexByte(data, ' ')+1:])
}

// imageOf returns the addresses of a process's program in memory, which change
// with every exec. It returns "" while the process is about to execute a
// program.
func imageOf(pid int) string {
	const startCode, startStack = 26, 28 // in proc_pid_stat(5)
	fields := statFields(pid)
	if len(fields) <= startStack-3 || string(fields[startCode-3]) == "0" {
		return ""
	}
	return string(bytes.Join(fields[startCode-3:startStack-2], []byte(" ")))
}

// signal is like kill with another signal.
func (p proc) signal(sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return err
	}
	if err == nil {
		defer unix.Close(fd)
	}
	if now, ok := stat(p.PID); !ok || now.Start != p.Start || now.ended {
		return syscall.ESRCH
	}
	if err != nil { // not supported or forbidden: a PID reused within a moment is the remaining risk
		return syscall.Kill(p.PID, sig)
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// Now returns the current time in the unit of ID.Start.
func Now() uint64 {
	const ticks = 100 // per second, on every architecture that Go supports; see getauxval(3), AT_CLKTCK
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // cannot fail
	return uint64(t.Nano()) / (1e9 / ticks)
}

// watchEnd waits for the end of a process without blocking a thread.
func watchEnd(pid int, running func() bool) <-chan struct{} {
	ended := make(chan struct{})
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil || !running() {
		if err == nil {
			unix.Close(fd)
		}
		if running() {
			return nil
		}
		close(ended)
		return ended
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	go func() {
		defer close(ended)
		defer f.Close()
		conn, err := f.SyscallConn()
		if err != nil {
			return
		}
		// The descriptor becomes readable when the process ends.
		_ = conn.Read(func(uintptr) bool { return !running() })
	}()
	return ended
}

// ownMemoryPeak returns the highest resident memory of this program since it
// was executed, in bytes, or noShadow if unknown. See VmHWM in proc(5).
func ownMemoryPeak() int64 {
	text, err := readFile("/proc/self/status")
	if err != nil {
		return noShadow
	}
	_, rest, _ := bytes.Cut(text, []byte("\nVmHWM:"))
	kib, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
	n, err := strconv.ParseInt(string(kib), 10, 64)
	if err != nil {
		return noShadow
	}
	return n << 10
}
