package process

import (
	"errors"
	"time"
)

// Journal records, outside the memory of this program, which processes were
// started, for the cleanup when this program is killed. Its methods return at
// once.
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

// noEntry is the entry of a process that no journal keeps.
type noEntry struct{}

func (noEntry) Started(ID) {}

func (noEntry) Remove() {}

// Keeper is the parent of this program. Its children include the processes that
// an earlier instance of this program started and that outlived it. It keeps
// their exit status until Reap is called. Its methods return at once, and wait
// for nothing in this package.
type Keeper interface {
	// PID is the keeper's own number.
	PID() int
	// Child returns what is known of a child; ok is false for any process that
	// is none of those recorded.
	Child(ID) (child Child, ok bool)
	// Children returns all that are recorded.
	Children() []Child
	// Reap frees the number of a child that has ended.
	Reap(ID)
}

// Child is a process that a keeper has.
type Child struct {
	ID
	Tag     string // the NOMAD_ALLOC_ID and NOMAD_TASK_NAME it was started with, see tagOf
	Ended   bool
	Status  Status    // how, when it has ended
	EndedAt time.Time // and when
}

// ErrUnknown is the error of Adopt and Find when there is no such process, or
// none whose end this program could learn.
var ErrUnknown = errors.New("no such process of this run")
