package process

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// clear kills what the trees of processes that have ended still hold, and
// finishes those that hold nothing. One scan serves all that ended together,
// and it looks at orphans only: when a process dies its children become those
// of this program, where the system can do that. Whatever is killed here dies
// as this program's child in the end, so another SIGCHLD will come.
func (r *reaping) clear() {
	r.unsettled = false
	if len(r.leaving) == 0 {
		return
	}
	busy := map[*Process]bool{}
	if trees, known := r.strayTrees(); len(trees) > 0 {
		for _, tree := range trees {
			owner, sure := known.owner(tree)
			switch {
			case owner == nil && !sure:
				r.unsettled = true
			case owner != nil && owner.hasEnded():
				busy[owner] = killTree(owner, tree) || busy[owner]
			}
		}
	}
	now := time.Now()
	left := r.leaving[:0]
	for _, p := range r.leaving {
		held := busy[p] || r.unsettled
		if held && p.giveUpAt.IsZero() {
			p.giveUpAt = now.Add(giveUp)
		}
		if held && now.Before(p.giveUpAt) {
			left = append(left, p)
			continue
		}
		if busy[p] {
			p.err = errors.Join(p.err, fmt.Errorf("cannot kill all that process %d started: some did not exit after %v", p.id.PID, giveUp))
		}
		r.finish(p)
	}
	clear(r.leaving[len(left):])
	r.leaving = left
}

// strayTrees returns the orphans, each with its descendants, and what is known
// of the processes that they may come from.
func (r *reaping) strayTrees() ([][]proc, survey) {
	pids := strays(r.keeperPID()) // first: of these, what was started here is known by now, or starting
	orphans := pids[:0]
	r.mu.Lock()
	for _, pid := range pids {
		if r.procs[pid] == nil {
			orphans = append(orphans, pid)
		}
	}
	r.mu.Unlock()
	if len(orphans) == 0 {
		return nil, survey{}
	}
	known := r.survey()
	var trees [][]proc
	for _, pid := range orphans {
		if !inOtherSession(pid) {
			continue
		}
		if tree := strayTree(pid); len(tree) > 0 {
			trees = append(trees, tree)
		}
	}
	return trees, known
}

// killTree kills what lives of a tree and reports whether it may take a while
// until all of it is gone. What cannot be killed is noted as its owner's error.
func killTree(owner *Process, tree []proc) (busy bool) {
	for _, member := range tree {
		if member.ended {
			busy = true // it may have left another, see reaping.lookAround
			continue
		}
		switch err := member.kill(); {
		case err == nil || errors.Is(err, syscall.ESRCH):
			busy = true
		default:
			owner.err = fmt.Errorf("cannot kill process %d, which process %d started: %w", member.PID, owner.id.PID, err)
		}
	}
	return busy
}

// survey is what is known at one moment of the processes started here.
type survey struct {
	runs    int // that are open
	procs   map[int]*Process
	byTag   map[string]*Process // one that runs, rather than one that has ended
	members map[ID]*Process     // that ended processes remember
}

func (r *reaping) survey() survey {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := survey{
		runs:    r.runs - r.helpers,
		procs:   make(map[int]*Process, len(r.procs)),
		byTag:   make(map[string]*Process, len(r.procs)),
		members: map[ID]*Process{},
	}
	for pid, p := range r.procs {
		s.procs[pid] = p
		if other := s.byTag[p.tag]; other == nil || other.hasEnded() {
			s.byTag[p.tag] = p
		}
		if !p.hasEnded() {
			continue
		}
		for id := range p.members {
			s.members[id] = p
		}
	}
	for p := range r.starting {
		s.byTag[p.tag] = p
	}
	delete(s.byTag, "")
	return s
}

// owner returns the process that an orphan and its descendants come from, nil
// if they bear no sign of one. What one of them shows goes for all: a process
// with a descendant in a task's session is that task's. It is not sure that
// there is no owner when the orphan has ended, for while this scan went on it
// may have left another, or when one of them changes its program just now.
func (s survey) owner(tree []proc) (owner *Process, sure bool) {
	for _, member := range tree {
		if p := s.procs[member.session]; p != nil {
			return p, true
		}
	}
	for _, member := range tree {
		if p := s.members[member.ID]; p != nil {
			return p, true
		}
	}
	sure = !(tree[0].ended && reaper.isParent(tree[0].ppid))
	for _, member := range tree {
		env, ok := member.environ()
		if p := s.byTag[tagOf(env)]; p != nil {
			return p, true
		}
		sure = sure && ok
	}
	return nil, sure
}
