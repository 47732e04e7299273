package process

import (
	"os"
)

// What follows is for the program that is a Keeper. It has no runs.

// Orphan is a child of this program that it did not start, in most cases.
type Orphan struct {
	ID
	Leader bool // of its session
	Ended  bool
	Status Status // how, when it has ended
}

// Orphans returns the children of this program. Those that have ended stay
// until they are buried.
func Orphans() []Orphan {
	return orphans(func(bool) bool { return true })
}

// EndedOrphans returns those children that have ended.
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

// Tag returns the tag in the orphan's environment, "" when it has none, or none
// any more. Until the orphan has executed its program the answer is not sure.
func (o Orphan) Tag() (tag string, sure bool) {
	if o.Ended {
		return "", true
	}
	env, sure := proc{ID: o.ID}.environ()
	return tagOf(env), sure && !hasOwnProgram(o.PID)
}

// Bury frees the number of a child that has ended.
func Bury(id ID) { reap(id.PID) }

// Settle kills, with all that they started, the processes that the keeper has
// and that are not adopted. It is for the moment when everything is adopted that
// will ever be, and returns how many there were.
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
				_ = member.kill() // Shutdown reports what it cannot kill
			}
		}
		k.Reap(child.ID)
	}
	return killed
}

// Launch starts a process that belongs to no run: it leads a session of its
// own, and may outlive this program. To learn how it ends is the caller's
// business; see Orphans.
func Launch(spec Spec) (ID, error) {
	pid, err := spec.fork(spec.sysProcAttr())
	if err != nil {
		return ID{}, err
	}
	return identify(pid), nil
}
