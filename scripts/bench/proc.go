package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A cost is the resource usage of a runner's processes at one moment.
type cost struct {
	pss       float64 // bytes
	threads   float64
	processes float64
	cpu       float64 // seconds since their start
}

// costOf adds up a process and those of its descendants that run the same
// program.
func costOf(pid int) (cost, error) {
	children, err := childrenOf()
	if err != nil {
		return cost{}, err
	}
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return cost{}, err
	}
	var sum cost
	if err := sum.add(pid); err != nil {
		return cost{}, err
	}
	for todo := children[pid]; len(todo) > 0; todo = todo[1:] {
		todo = append(todo, children[todo[0]]...)
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", todo[0])); err != nil || exe != program {
			continue // gone, or a task
		}
		if err := sum.add(todo[0]); err != nil {
			return cost{}, err
		}
	}
	return sum, nil
}

func (c *cost) add(pid int) error {
	c.processes++
	rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(rollup)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "Pss:" {
			kib, err := strconv.ParseFloat(fields[1], 64)
			if err != nil {
				return err
			}
			c.pss += kib * 1024
		}
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return err
	}
	for _, file := range threads {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		fields := strings.Fields(string(stat))
		ns, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			return err
		}
		c.threads++
		c.cpu += ns / 1e9
	}
	return nil
}

// childrenOf returns the children of every process, by parent.
func childrenOf() (map[int][]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // gone
		}
		// The name, in parentheses, may contain anything; the parent is the
		// second field after it.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		pid, err := strconv.Atoi(strings.Split(file, "/")[2])
		if err != nil || len(fields) < 2 {
			return nil, fmt.Errorf("cannot read %q: unexpected form", file)
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, fmt.Errorf("cannot read %q: %w", file, err)
		}
		children[parent] = append(children[parent], pid)
	}
	return children, nil
}
