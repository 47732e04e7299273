package process

// Census takes one look at all processes of the system and returns the PIDs in
// the tree of each process of the run. It omits processes that show no evidence
// of their owner (see Run).
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

// census finds the owners of the processes in a table.
type census struct {
	all    map[int]proc
	known  survey
	owners map[int]*Process // found so far; nil for none
}

// owner returns the owner by the evidence of a process, or else that of its
// parent. The table is not a consistent snapshot and may contain cycles, so
// depth limits the recursion.
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
