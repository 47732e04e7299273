package process

import (
	"os"
)

// The rest of this file is for a program that is a Keeper. It has no runs.

// Orphan is a child of this program, usually one that it did not start.
type Orphan struct {
	ID
	Leader bool // of its session
	Ended  bool
	Status Status // exit status, if it has ended
}

// Orphans returns the children of this program. Children that have ended are
// included until Bury.
func Orphans() []Orphan {
	return orphans(func(bool) bool { return true })
}

// EndedOrphans returns the children that have ended.
func EndedOrphans() []Orphan {
	return orphans(func(ended bool) bool { return ended })
}

func orphans(wanted func(ended bool) bool) (list []Orphan) {
	for _, pid := range children(os.Getpid()) {
		status, ended := collect(pid)
		if !wanted(ended) {
			continue
		}
		if p, ok := stat(pid); ok {
			list = append(list, Orphan{ID: p.ID, Leader: p.session == pid, Ended: ended, Status: status})
		}
	}
	return list
}

// Tag returns the tag in the orphan's environment, or "" if it has none, or has
// removed it. The answer is not sure until the orphan has executed its program.
func (o Orphan) Tag() (tag string, sure bool) {
	if o.Ended {
		return "", true
	}
	env, sure := proc{ID: o.ID}.environ()
	return tagOf(env), sure && !hasOwnProgram(o.PID)
}

// Bury reaps a child that has ended, which releases its PID.
func Bury(id ID) { reap(id.PID) }

// Settle kills the processes of the keeper that are not adopted, with their
// descendants, and returns how many there were. Call it after the last Adopt.
func Settle() (killed int) {
	k := reaper.above()
	if k == nil {
		return 0
	}
	for _, child := range k.Children() {
		reaper.mu.Lock()
		p := reaper.procs[child.PID]
		adopted := p != nil && p.id == child.ID
		reaper.mu.Unlock()
		if adopted {
			continue
		}
		if !child.Ended {
			killed++
		}
		if tree := treeOf(child.PID); len(tree) > 0 && tree[0].ID == child.ID {
			for _, member := range tree {
				_ = member.kill() // Shutdown reports failures
			}
		}
		k.Reap(child.ID)
	}
	return killed
}

// Launch starts a process that belongs to no run. It leads its own session and
// may outlive this program. The caller must watch for its end; see Orphans.
func Launch(spec Spec) (ID, error) {
	pid, err := spec.fork(spec.sysProcAttr())
	if err != nil {
		return ID{}, err
	}
	return identify(pid), nil
}
