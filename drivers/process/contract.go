package process

import (
	"errors"
	"time"
)

// Journal records on disk which processes were started, for the cleanup after
// this program is killed. Its methods do not block.
type Journal interface {
	// Intend is called before a process is forked, with its tag (see tagOf),
	// once this program has its mark.
	Intend(tag string) Entry
	// Recall returns the entry of a process that an earlier instance of this
	// program started.
	Recall(ID) Entry
}

// Entry is a process in a journal. Started or Remove is called after the fork,
// and Remove when the process and its tree have ended.
type Entry interface {
	Started(ID)
	Remove() // the process was not started, or is gone
}

// noEntry is the entry of a process without a journal.
type noEntry struct{}

func (noEntry) Started(ID) {}

func (noEntry) Remove() {}

// Keeper is the parent of this program. It also has the processes that outlived
// an earlier instance of this program as children, and keeps their exit status
// until Reap is called. Its methods do not block, and never wait for this
// package.
type Keeper interface {
	// PID returns the keeper's PID.
	PID() int
	// Child returns a recorded child; ok is false for any other process.
	Child(ID) (child Child, ok bool)
	// Children returns all recorded children.
	Children() []Child
	// Reap releases the PID of a child that has ended.
	Reap(ID)
}

// Child is a child of a keeper.
type Child struct {
	ID
	Tag     string // the NOMAD_ALLOC_ID and NOMAD_TASK_NAME it was started with, see tagOf
	Ended   bool
	Status  Status    // exit status, if it has ended
	EndedAt time.Time // time of its end
}

// ErrUnknown is the error of Adopt and Find if there is no such process, or
// none whose exit status this program could get.
var ErrUnknown = errors.New("no such process of this run")
