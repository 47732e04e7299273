package process

// Journal keeps, outside the memory of this program, what was started: for
// whoever cleans up when this program is killed. Its methods return at once.
type Journal interface {
	// Intend is called before a process is forked, with its tag (see tagOf),
	// when this program bears its mark.
	Intend(tag string) Entry
	// Recall returns the entry of a process that an earlier instance of this
	// program started.
	Recall(ID) Entry
}

// Entry is a process in a journal. One of the methods is called after the
// fork, and Remove when the process and its tree have ended.
type Entry interface {
	Started(ID)
	Remove() // there is no such process, or not any more
}

// SetJournal has every start from now on written to a journal.
func SetJournal(j Journal) {
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	reaper.journal = j
}

// noEntry is the entry of a process that no journal keeps.
type noEntry struct{}

func (noEntry) Started(ID) {}
func (noEntry) Remove()    {}

func (r *reaping) recall(id ID) Entry {
	r.mu.Lock()
	j := r.journal
	r.mu.Unlock()
	if j == nil {
		return noEntry{}
	}
	return j.Recall(id)
}

func (r *reaping) intend(p *Process) Entry {
	r.mu.Lock()
	j := r.journal
	r.mu.Unlock()
	if j == nil || p.run.helpers {
		return noEntry{}
	}
	return j.Intend(p.tag)
}
