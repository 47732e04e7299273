package process

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"
)

// hunt searches all processes of the system for those of a run.
type hunt struct {
	run    *Run
	alone  bool // this is the program's only run, so any evidence counts
	killed map[ID]bool
	failed map[ID]error // processes that could not be killed
}

// scan kills the processes it finds. It returns how many of them may not be
// gone yet.
func (h *hunt) scan() (found int) {
	if reaper.helperStarts() {
		return 1 // there is news once it has started
	}
	oldest := reaper.oldest()
	all, spared := outsiders(oldest), lineage()
	known := reaper.survey()
	if reaper.helperStarts() {
		return 1 // likewise: the helper may be among them
	}
	h.alone = known.runs == 1 // after the survey: a run that started later has no process in it
	for _, p := range all {
		if p.Start < oldest || spared[p.PID] || p.session == ownSession() || !h.belongs(p, all, known) {
			continue
		}
		if p.ended {
			if reaper.isParent(p.ppid) && !isKept(p.ID) {
				found++ // until it is reaped: it may have left another one
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

// onlyHelpers reports whether nothing is left of the only open run of this
// program, without a look at all processes of the system. Everything that the
// run started descends from a child of this program, which adopts every orphan
// among its descendants; if all children are helpers, nothing is left. If it
// returns false, the answer is unknown.
func (r *reaping) onlyHelpers() bool {
	if r.above() != nil || r.helperStarts() {
		return false // some may be the keeper's, or one is not known yet
	}
	pids, all := ownChildren()
	r.mu.Lock()
	defer r.mu.Unlock()
	return all && r.runs-r.helpers == 1 && len(r.starting) == 0 && !slices.ContainsFunc(pids, func(pid int) bool {
		p := r.procs[pid]
		return p == nil || !p.run.helpers
	})
}

// belongs reports whether a process belongs to the run.
func (h *hunt) belongs(p proc, all map[int]proc, known survey) bool {
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

// isKept reports whether a process that has ended stays unreaped until Release
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

// joinErrors returns the errors of processes that still run. Others have ended
// since they could not be killed.
func joinErrors(failed map[ID]error) error {
	var errs []error
	for _, id := range slices.SortedFunc(maps.Keys(failed), func(a, b ID) int { return a.PID - b.PID }) {
		if id.Running() {
			errs = append(errs, fmt.Errorf("cannot kill process %d: %w", id.PID, failed[id]))
		}
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

// descends reports whether p was started here, or is an orphan that this
// process or its keeper adopted, or descends from either. Descendants of other
// children, which stay in this process's own session, are left to their
// parents.
func descends(p proc, all map[int]proc) bool {
	for range len(all) {
		if reaper.isParent(p.ppid) {
			return inOtherSession(p.PID)
		}
		parent, ok := p.parentIn(all)
		if !ok {
			return false
		}
		p = parent
	}
	return false
}
