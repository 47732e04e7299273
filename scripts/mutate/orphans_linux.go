package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// memory limits a mutant that allocates without end.
const memory = 6 << 30

// adopt makes this process the parent of every orphaned descendant, and limits
// their memory.
func adopt() error {
	const prSetChildSubreaper = 36
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return errno
	}
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: memory, Max: memory})
}

// killOrphans kills every descendant, including those started meanwhile.
func killOrphans() {
	for left := descendants(os.Getpid()); len(left) > 0; left = descendants(os.Getpid()) {
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_, _ = syscall.Wait4(-1, nil, 0, nil)
	}
}

// descendants returns the children of a process, their children, and so on.
func descendants(of int) []int {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has gone
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		var state string
		var parent int
		// The name, in parentheses, may contain anything.
		if _, err := fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	var all []int
	for next := children[of]; len(next) > 0; next = next[1:] {
		all = append(all, next[0])
		next = append(next, children[next[0]]...)
	}
	return all
}
