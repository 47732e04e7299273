package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

type allocation struct {
	ID, Name, JobID, DesiredStatus, ClientStatus string
}

// settled waits until the agent runs exactly what it should.
func (a *agentRound) settled() error { return until(50*time.Millisecond, a.check) }

// check compares the agent with the expected state. A difference that may still
// pass is err.
func (a *agentRound) check() (fatal, err error) {
	for _, job := range a.jobs {
		if fatal := a.compare(job, job.state); fatal != nil {
			return fatal, nil
		}
	}
	value, fatal := a.agent.variable()
	if fatal == nil && value != a.variable {
		fatal = fmt.Errorf("the variable is %q, want %q", value, a.variable)
	}
	if fatal != nil {
		return fatal, nil
	}
	var allocs []allocation
	if fatal := a.agent.read("/v1/allocations", &allocs); fatal != nil {
		return fatal, nil
	}
	processes := a.taskProcesses()
	var errs []error
	for _, job := range a.jobs {
		errs = append(errs, job.check(allocs, processes))
	}
	return nil, errors.Join(append(errs, a.checkDispatched(allocs))...)
}

// check compares the allocations and processes of a job with its state.
func (j *agentJob) check(allocs []allocation, processes map[string]int) error {
	want := j.state.Count
	if !j.state.Exists || j.state.Stopped {
		want = 0
	}
	names := map[string]bool{}
	for _, alloc := range allocs {
		if alloc.JobID != j.id {
			continue
		}
		n := processes[alloc.ID]
		switch running := alloc.DesiredStatus == "run" && alloc.ClientStatus == "running"; {
		case running && n != 1, !running && n != 0:
			return fmt.Errorf("%s of %s is %s and has %d processes", alloc.ID, j.id, alloc.ClientStatus, n)
		case running && names[alloc.Name]:
			return fmt.Errorf("%s runs twice", alloc.Name)
		case running:
			names[alloc.Name] = true
		case alloc.ClientStatus == "running", alloc.ClientStatus == "pending":
			return fmt.Errorf("%s of %s is %s, wanted: %s", alloc.ID, j.id, alloc.ClientStatus, alloc.DesiredStatus)
		}
	}
	if len(names) != want {
		return fmt.Errorf("%s has %d running allocations, want %d", j.id, len(names), want)
	}
	return nil
}

// checkDispatched checks that each dispatched job ran exactly once, and again only
// after a death of agent and keeper.
func (a *agentRound) checkDispatched(allocs []allocation) error {
	text, err := os.ReadFile(filepath.Join(a.starts, "once"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	found := 0
	for _, alloc := range allocs {
		if !strings.HasPrefix(alloc.JobID, "once/") {
			continue
		}
		found++
		if n := strings.Count(string(text), alloc.ID); n < 1 || n > 1+a.alone || alloc.ClientStatus != "complete" {
			return fmt.Errorf("%s of %s is %s and ran %d times", alloc.ID, alloc.JobID, alloc.ClientStatus, n)
		}
	}
	if lines := strings.Count(string(text), "\n"); found < a.dispatched || found > a.dispatched+a.perhaps || lines > found*(1+a.alone) {
		return fmt.Errorf("%d dispatched jobs ran %d times, want %d (and perhaps %d)", found, lines, a.dispatched, a.perhaps)
	}
	return nil
}

// taskProcesses counts the processes of each allocation.
func (a *agentRound) taskProcesses() map[string]int {
	count := map[string]int{}
	for _, pid := range a.processes() {
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // it may just have ended
		for _, v := range bytes.Split(env, []byte{0}) {
			if id, ok := bytes.CutPrefix(v, []byte("NOMAD_ALLOC_ID=")); ok {
				count[string(id)]++
			}
		}
	}
	return count
}
