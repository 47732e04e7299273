package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Group is the group of one start of a task. All methods are safe for
// concurrent use.
type Group struct {
	dirs    []string // the first has the memory controller
	freezer string   // the group that can be frozen; "" for none
	v2      bool
	found   bool // created by an earlier run
}

// Make creates an empty group. The name must be new in the tree. The caller
// must call Remove.
func (t *Tree) Make(name string, limits Limits) (*Group, error) {
	t.making.RLock()
	defer t.making.RUnlock()
	if len(t.hierarchies) == 0 {
		return nil, errors.New("cannot make a cgroup: the run has ended")
	}
	name = strings.ReplaceAll(name, "/", ".")
	g := &Group{v2: t.version2}
	for _, h := range t.hierarchies {
		dir := filepath.Join(h.dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, errors.Join(fmt.Errorf("cannot make a cgroup: %w", err), g.Remove(0))
		}
		g.dirs = append(g.dirs, dir)
		if g.v2 || h.controller == freezer || exists(filepath.Join(dir, "freezer.state")) {
			g.freezer = dir
		}
	}
	if err := g.limit(limits); err != nil {
		return nil, errors.Join(err, g.Remove(0))
	}
	return g, nil
}

// Find returns the group with the directories that Dirs returned.
func Find(dirs []string) (*Group, error) {
	g := &Group{dirs: dirs, found: true}
	for _, dir := range dirs {
		if !exists(dir) {
			return nil, fmt.Errorf("there is no cgroup %q", dir)
		}
		v2 := exists(filepath.Join(dir, "cgroup.controllers"))
		if g.v2 = g.v2 || v2; v2 || exists(filepath.Join(dir, "freezer.state")) {
			g.freezer = dir
		}
	}
	return g, nil
}

// Dirs returns the directories of the group, for Find.
func (g *Group) Dirs() []string { return g.dirs }

// Version2 reports whether the group has one directory, in which a process can
// be started. With version 1, the starting thread must join all of them.
func (g *Group) Version2() bool { return g.v2 }

// limit sets limits. Only the limit of memory is required.
func (g *Group) limit(l Limits) error {
	limit, swap, reserved := "memory.limit_in_bytes", "memory.swappiness", "memory.soft_limit_in_bytes"
	weights, weight := "cpu.shares", max(l.CPUShares, 2)
	if g.v2 {
		limit, swap, reserved = "memory.max", "memory.swap.max", "memory.low"
		weights, weight = "cpu.weight", weightOf(l.CPUShares)
	}
	if l.Memory > 0 {
		if err := write(g.dirs[0], limit, strconv.FormatInt(l.Memory, 10)); err != nil {
			return err
		}
		_ = write(g.dirs[0], swap, "0")
	}
	if l.Reserved > 0 {
		_ = write(g.dirs[0], reserved, strconv.FormatInt(l.Reserved, 10))
	}
	if l.CPUShares > 0 {
		for _, dir := range g.dirs { // one of them has the file
			_ = write(dir, weights, strconv.Itoa(weight))
		}
	}
	return nil
}

// weightOf converts shares of version 1 (default 1024) to a weight of version 2, by
// Nomad's formula.
func weightOf(shares int) int {
	switch {
	case shares <= 2:
		return 1
	case shares >= 262144:
		return 10000
	}
	l := math.Log2(float64(shares))
	return int(math.Ceil(math.Pow(10, (l*l+125*l)/612-7.0/34)))
}

// Processes returns the PIDs in the group except this program, which has a
// thread in it for a moment with version 1; see package process.
func (g *Group) Processes() (pids []int) {
	for _, word := range words(g.dirs[0], "cgroup.procs") {
		if pid, err := strconv.Atoi(word); err == nil && pid > 0 && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// OOMKills returns how many processes the kernel killed for the group's memory
// limit.
func (g *Group) OOMKills() int {
	file := "memory.oom_control"
	if g.v2 {
		file = "memory.events"
	}
	all := words(g.dirs[0], file)
	i := slices.Index(all, "oom_kill")
	if i < 0 || i+1 == len(all) {
		return 0
	}
	n, _ := strconv.Atoi(all[i+1])
	return n
}

// Kill kills every process in the group, without waiting. If the group cannot
// be frozen, Kill does nothing, because a PID may be reused in the meantime.
func (g *Group) Kill() error {
	if g.freezer == "" || len(g.Processes()) == 0 {
		return nil
	}
	file, on, off := "freezer.state", "FROZEN", "THAWED"
	if g.v2 {
		if exists(filepath.Join(g.freezer, "cgroup.kill")) {
			return write(g.freezer, "cgroup.kill", "1")
		}
		file, on, off = "cgroup.freeze", "1", "0" // before Linux 5.14
	}
	if err := write(g.freezer, file, on); err != nil {
		return err
	}
	for _, pid := range g.Processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return write(g.freezer, file, off)
}

// Remove kills the processes of the group and removes it once they are gone. It
// waits no longer than patience. It does nothing for a task without a group.
func (g *Group) Remove(patience time.Duration) error {
	if g == nil {
		return nil
	}
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		err := g.Kill()
		for _, dir := range g.dirs {
			if failure := os.Remove(dir); failure != nil && !errors.Is(failure, fs.ErrNotExist) {
				err = errors.Join(err, fmt.Errorf("cannot remove a cgroup: %w", failure))
			}
		}
		if err == nil && g.found {
			for _, dir := range g.dirs {
				sweep(filepath.Dir(filepath.Dir(dir))) // removes the directory of its run after the last group
			}
		}
		if err == nil || !time.Now().Before(deadline) {
			return err
		}
		<-time.After(pause)
	}
}
