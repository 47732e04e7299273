package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// hunt looks through all processes of the system for those of a run.
type hunt struct {
	run    *Run
	alone  bool // it is this program's only run: every sign counts
	killed map[procID]bool
	failed map[procID]error // what must not be killed
}

// scan kills what it finds and returns how many of those may live a while yet.
func (h *hunt) scan() (alive int) {
	all := table()
	spared := lineage(all)
	known := reaper.survey()
	for _, p := range all {
		if p.zombie || spared[p.pid] || !inOtherSession(p.pid) || !h.isPrey(p, all, known) {
			continue
		}
		switch err := p.kill(); {
		case err == nil:
			h.killed[p.procID] = true
			alive++
		case !errors.Is(err, syscall.ESRCH):
			h.failed[p.procID] = err
		}
	}
	return alive
}

// isPrey reports whether a process belongs to the run.
func (h *hunt) isPrey(p proc, all map[int]proc, known survey) bool {
	if started := known.procs[p.session]; started != nil {
		return started.run == h.run
	}
	if h.alone && (descends(p, all) || marked(p.pid)) {
		return true
	}
	tag := tagOf(p.environ())
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	return tag != "" && h.run.tags[tag]
}

func (h *hunt) err() error {
	var errs []error
	for id, err := range h.failed {
		errs = append(errs, fmt.Errorf("cannot kill process %d: %w", id.pid, err))
	}
	return errors.Join(errs...)
}

// lineage returns this process and its ancestors.
func lineage(all map[int]proc) map[int]bool {
	line := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !line[pid]; pid = all[pid].ppid {
		line[pid] = true
	}
	return line
}

// descends reports whether p is a descendant of this process.
func descends(p proc, all map[int]proc) bool {
	self := os.Getpid()
	for range len(all) {
		if p.ppid == self {
			return true
		}
		parent, ok := all[p.ppid]
		if !ok {
			return false
		}
		p = parent
	}
	return false
}
