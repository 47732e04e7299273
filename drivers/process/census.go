package process

// Census returns, after one look at all processes of the system, the numbers
// of those that live in the tree of each process of the run. What bears no
// sign of whose it is (see Run) is left out.
func (r *Run) Census() map[*Process][]int {
	c := census{all: table(), known: reaper.survey(), owners: map[int]*Process{}}
	trees := map[*Process][]int{}
	for pid, p := range c.all {
		if p.ended {
			continue
		}
		if owner := c.owner(pid, len(c.all)); owner != nil && owner.isOf(r) {
			trees[owner] = append(trees[owner], pid)
		}
	}
	return trees
}

// census finds out whose the processes of a table are.
type census struct {
	all    map[int]proc
	known  survey
	owners map[int]*Process // found until now, nil for none
}

// owner asks for what distinguishes a process, then for its parent's owner. A
// table that was not taken at one moment may have circles, hence the depth.
func (c *census) owner(pid, depth int) *Process {
	if owner, found := c.owners[pid]; found {
		return owner
	}
	p, ok := c.all[pid]
	if !ok || depth == 0 {
		return nil
	}
	owner := c.known.procs[pid]
	if owner == nil {
		owner = c.known.procs[p.session]
	}
	switch orphan := reaper.isParent(p.ppid) || p.ppid == 1; {
	case owner != nil:
	case !orphan:
		owner = c.owner(p.ppid, depth-1)
	case inOtherSession(pid):
		owner, _ = c.known.owner([]proc{p})
	}
	c.owners[pid] = owner
	return owner
}
