package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// stat reads /proc/PID/stat, see proc_pid_stat(5); ok is false when there is
// no such process.
func stat(pid int) (p proc, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, false
	}
	return parseStat(pid, data)
}

func parseStat(pid int, data []byte) (p proc, ok bool) {
	// The second field is the program's name in parentheses, which may hold
	// any byte.
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return p, false
	}
	fields := bytes.Fields(data[end+1:]) // from the third field, the state
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
		procID:  procID{pid: pid, start: number(22)},
		ppid:    int(number(4)),
		session: int(number(6)),
	}
	// A process whose first thread has ended shows as a zombie while others
	// run on.
	state := fields[0][0]
	p.zombie = state == 'X' || state == 'Z' && number(20) <= 1
	return p, ok
}

// table returns all processes.
func table() map[int]proc {
	all := map[int]proc{}
	dir, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := stat(pid); ok {
			all[pid] = p
		}
	}
	return all
}

// strays returns the children that this process may have adopted: they go to
// its first thread. Some that it started are among them.
func strays() []int {
	self := os.Getpid()
	if !hasChildrenFiles() {
		return childrenByTable(self)
	}
	return childrenOfThread(self, strconv.Itoa(self))
}

// strayTree returns an orphan and its descendants, whose end this process will
// hear of.
func strayTree(pid int) []proc { return treeOf(pid) }

// treeOf returns a process and its descendants, parents first, or nothing when
// there is no such process.
func treeOf(pid int) []proc {
	var tree []proc
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		p, ok := stat(next[0])
		if !ok {
			continue
		}
		tree = append(tree, p)
		next = append(next, children(p.pid)...)
	}
	return tree
}

func children(pid int) []int {
	if !hasChildrenFiles() {
		return childrenByTable(pid)
	}
	dir, err := os.Open(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	defer dir.Close()
	threads, _ := dir.Readdirnames(-1)
	var pids []int
	for _, thread := range threads {
		pids = append(pids, childrenOfThread(pid, thread)...)
	}
	return pids
}

func childrenOfThread(pid int, thread string) []int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread))
	if err != nil {
		return nil
	}
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
// CONFIG_PROC_CHILDREN, as those of most distributions are.
var hasChildrenFiles = sync.OnceValue(func() bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	return err == nil
})

func childrenByTable(pid int) (pids []int) {
	for _, p := range table() {
		if p.ppid == pid {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// environ returns the environment that the process was started with, if this
// user may know it.
func (p proc) environ() []string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
	if err != nil {
		return nil
	}
	return strings.Split(string(data), "\x00")
}

// kill kills the process, and no other that got its number since. The error is
// ESRCH when it has ended.
func (p proc) kill() error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		fd = -1 // no such call, or forbidden here: the window is as small as can be
	} else if err != nil {
		return err
	}
	if fd >= 0 {
		defer unix.Close(fd)
	}
	if now, ok := stat(p.pid); !ok || now.start != p.start || now.zombie {
		return syscall.ESRCH
	}
	if fd < 0 {
		return syscall.Kill(p.pid, syscall.SIGKILL)
	}
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
}

// inOtherSession reports whether a process exists in another session than this
// one's.
func inOtherSession(pid int) bool {
	session, err := unix.Getsid(pid)
	return err == nil && session != ownSession()
}

var ownSession = sync.OnceValue(func() int {
	session, _ := unix.Getsid(0)
	return session
})
