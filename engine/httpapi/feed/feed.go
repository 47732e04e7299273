// Package feed keeps the latest events of Nomad's event stream for those who
// read it.
package feed

import (
	"sync"

	"github.com/hashicorp/nomad/api"
)

// Kept is how many entries of the event stream are kept for those who
// come late, as in Nomad by default.
const Kept = 100

// TopicVariable is that of Nomad's variables, which its client has no name for.
const TopicVariable api.Topic = "Variable"

// Variable tells of a variable, and never of its items.
type Variable struct {
	Metadata *api.VariableMetadata
	Deleted  bool
}

// Occurrence is an event of the event stream, before its object is looked at:
// that is shown as it is when it is sent.
type Occurrence struct {
	Topic   api.Topic
	Kind    string // Type
	Key     string
	Filters []string // by which it is found as well
	Object  any      // where it is not looked up by its key
}

// Entry is what happened at one index.
type Entry struct {
	Index  uint64
	Events []Occurrence
	number uint64        // counts entries
	next   *Entry        // set before more is closed; nil: nothing comes any more
	more   chan struct{} // closed when there is a next one, or will be none
}

// Feed is the event stream: a list of the latest events. A reader holds an entry
// and finds the later ones from there, however slow it is.
type Feed struct {
	mu    sync.Mutex
	first *Entry
	last  *Entry
	n     int
}

// New returns an empty feed.
func New() *Feed {
	start := &Entry{more: make(chan struct{})}
	return &Feed{first: start, last: start}
}

// Add appends what happened at an index, if anything did.
func (f *Feed) Add(index uint64, events ...Occurrence) {
	if len(events) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	e := &Entry{Index: index, Events: events, number: f.last.number + 1, more: make(chan struct{})}
	f.last.next = e
	close(f.last.more)
	f.last = e
	if f.n++; f.n > Kept {
		f.first = f.first.next
		f.n--
	}
}

// Behind returns how many entries are kept only because a reader has yet to come
// to them from e.
func (f *Feed) Behind(e *Entry) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first.number - min(e.number, f.first.number)
}

// End ends the feed: no entry follows the last one.
func (f *Feed) End() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.last.more)
}

// From returns the entry behind which those of an index and later ones are. An
// index that is too old, or 0, means all there are; one that is still to come
// means the last one once more.
func (f *Feed) From(index uint64) *Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.first
	for before.next != nil && before.next != f.last && before.next.Index < index {
		before = before.next
	}
	return before
}

// More returns a channel that is closed when there is a later entry, or when
// nothing comes any more.
func (e *Entry) More() <-chan struct{} { return e.more }

// Next returns the entry that follows, once More is closed; nil: there is none.
func (e *Entry) Next() *Entry { return e.next }
