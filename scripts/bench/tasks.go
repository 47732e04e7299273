package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	settle = 2 * time.Second // after the start of the last task
	idle   = 5 * time.Second // interval for measuring CPU time
)

// A crowd is the result of a runner with many tasks.
type crowd struct {
	running float64 // seconds until all tasks were running
	cost
	cpu float64 // of one CPU, while nothing happens
}

// manyTasks measures how long a runner needs to start many tasks, and its cost
// afterwards.
func manyTasks(o options, dir string, runners []runner) ([]measure, error) {
	running := measure{what: fmt.Sprintf("%d tasks until all run", o.tasks), format: seconds, budgets: []budget{{"hivemind", 0.9}}}
	pss := measure{what: "  memory of the runner (PSS)", format: mebibytes, budgets: []budget{{"", 50 << 20}}}
	threads := measure{what: "  threads of the runner", format: number}
	processes := measure{what: "  processes of the runner", format: number}
	cpu := measure{what: "  CPU when idle", format: percent, budgets: []budget{{"", 0.0005}}}
	all := []*measure{&running, &pss, &threads, &processes, &cpu}
	for _, m := range all {
		m.values = map[string]float64{}
	}
	for _, r := range runners {
		if r.agent != nil {
			continue // the tasks are run by another process than the one that was started
		}
		c, err := oneCrowd(o, dir, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		for i, v := range []float64{c.running, c.pss, c.threads, c.processes, c.cpu} {
			all[i].values[r.name] = v
		}
	}
	return []measure{running, pss, threads, processes, cpu}, nil
}

func oneCrowd(o options, dir string, r runner) (crowd, error) {
	bell, err := newBell(dir)
	if err != nil {
		return crowd{}, err
	}
	defer bell.close()
	mark := fmt.Sprintf("86400.%d", time.Now().UnixNano())
	tasks := slices.Repeat([]string{bell.ring() + "; exec sleep " + mark}, o.tasks)
	cmd, start, err := r.start(bell.dir, nil, tasks...)
	if err != nil {
		return crowd{}, err
	}
	defer killMarked(r.name, mark)
	defer stop(cmd)
	at, err := bell.wait(o.tasks)
	if err != nil {
		return crowd{}, err
	}
	time.Sleep(settle)
	before, err := costOf(cmd.Process.Pid)
	if err != nil {
		return crowd{}, err
	}
	from := time.Now()
	time.Sleep(idle)
	after, err := costOf(cmd.Process.Pid)
	if err != nil {
		return crowd{}, err
	}
	return crowd{at.Sub(start).Seconds(), after, (after.cpu - before.cpu) / time.Since(from).Seconds()}, nil
}

// killMarked kills the tasks that a runner has left behind. Those of a plain sh
// ignore SIGINT, as POSIX requires.
func killMarked(runner, mark string) {
	left := 0
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(line), mark) {
			continue // gone, or not ours
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err == nil {
			left++
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
	if left > 0 && runner != "sh -c" {
		fmt.Fprintf(os.Stderr, "bench: %s left %d processes behind\n", runner, left)
	}
}
