package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
)

// hunt looks through all processes of the system for those of a run.
type hunt struct {
	run    *Run
	alone  bool // it is this program's only run, so every sign counts
	killed map[ID]bool
	failed map[ID]error // what must not be killed
}

// scan kills what it finds and returns how many of those may not be gone yet.
func (h *hunt) scan() (found int) {
	if reaper.helperStarts() {
		return 1 // there is news when it has started
	}
	oldest := reaper.oldest()
	all, spared := outsiders(oldest), lineage()
	known := reaper.survey()
	if reaper.helperStarts() {
		return 1 // likewise: it may be among them
	}
	h.alone = known.runs == 1 // after the look at all: a run that has begun since has nothing in there
	for _, p := range all {
		if p.Start < oldest || spared[p.PID] || p.session == ownSession() || !h.isPrey(p, all, known) {
			continue
		}
		if p.ended {
			if reaper.isParent(p.ppid) && !isKept(p.ID) {
				found++ // until it is reaped: it may have left another
			}
			continue
		}
		switch err := p.kill(); {
		case err == nil:
			h.killed[p.ID] = true
			found++
		case !errors.Is(err, syscall.ESRCH):
			h.failed[p.ID] = err
		}
	}
	return found
}

// onlyHelpers reports that nothing is left of the only run of this program that
// is open, without a look at all processes of the system: whatever it started
// descends from a child of this program, which adopts every orphan among its
// descendants, and all its children are helpers that have not been reaped since
// they were counted. False says nothing.
func (r *reaping) onlyHelpers() bool {
	if r.above() != nil || r.helperStarts() {
		return false // some may be the keeper's; or one is not known yet
	}
	pids, all := ownChildren()
	r.mu.Lock()
	defer r.mu.Unlock()
	return all && r.runs-r.helpers == 1 && len(r.starting) == 0 && !slices.ContainsFunc(pids, func(pid int) bool {
		p := r.procs[pid]
		return p == nil || !p.run.helpers
	})
}

// isPrey reports whether a process belongs to the run.
func (h *hunt) isPrey(p proc, all map[int]proc, known survey) bool {
	if started := known.procs[p.session]; started != nil {
		return started.isOf(h.run)
	}
	if h.alone && (descends(p, all) || marked(p.PID)) {
		return true
	}
	env, _ := p.environ()
	tag := tagOf(env)
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	return tag != "" && h.run.tags[tag]
}

// isKept reports whether a process that has ended is reaped only after Release,
// or Keeper.Reap.
func isKept(id ID) bool {
	reaper.mu.Lock()
	p := reaper.procs[id.PID]
	waits := p != nil && p.id == id && p.kept && p.finished
	reaper.mu.Unlock()
	if waits {
		return true
	}
	k := reaper.above()
	if k == nil {
		return false
	}
	_, kept := k.Child(id)
	return kept
}

func joinErrors(failed map[ID]error) error {
	var errs []error
	for id, err := range failed {
		errs = append(errs, fmt.Errorf("cannot kill process %d: %w", id.PID, err))
	}
	return errors.Join(errs...)
}

// lineage returns this process and its ancestors.
func lineage() map[int]bool {
	line := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !line[pid]; {
		line[pid] = true
		p, _ := stat(pid)
		pid = p.ppid
	}
	return line
}

// descends reports whether p is an orphan that this process or its keeper
// adopted, or a descendant of one, or of a process that was started here. What descends from
// other children of this process, which are in its own session, has a parent
// that takes care of it.
func descends(p proc, all map[int]proc) bool {
	for range len(all) {
		if reaper.isParent(p.ppid) {
			return inOtherSession(p.PID)
		}
		parent, ok := all[p.ppid]
		if !ok {
			return false
		}
		p = parent
	}
	return false
}
