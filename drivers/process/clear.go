package process

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// clear kills the remaining trees of processes that have ended, and finishes
// those whose tree is gone. One scan serves all processes that ended together.
// It only looks at orphans: when a process dies, its children become children
// of this program, if the system supports that. Every process killed here
// finally dies as a child of this program, which causes another SIGCHLD.
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

// strayTrees returns the orphans, each with its descendants, and a survey of
// the processes they may belong to.
func (r *reaping) strayTrees() ([][]proc, survey) {
	pids := strays(r.keeperPID()) // first, so that each of them that was started here is known by now, or starting
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

// killTree kills the running processes of a tree. It reports whether some of
// them may take a while to end. It records failures as the owner's error.
func killTree(owner *Process, tree []proc) (busy bool) {
	for _, member := range tree {
		if member.ended {
			busy = true // it may have left another orphan, see reaping.lookAround
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

// survey is a snapshot of the processes started here.
type survey struct {
	runs    int // open runs
	procs   map[int]*Process
	byTag   map[string]*Process // prefers running processes
	members map[ID]*Process     // processes that ended processes remember
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

// owner returns the process to which an orphan and its descendants belong, or
// nil if there is no evidence. The evidence of one of them counts for all: if
// one descendant is in a task's session, the tree belongs to that task. The
// answer nil is not sure if the orphan has ended (it may have left another one
// during this scan), or if one of them is executing a new program.
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
