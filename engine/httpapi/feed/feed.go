// Package feed keeps the latest events of Nomad's event stream for its readers.
package feed

import (
	"sync"

	"github.com/hashicorp/nomad/api"
)

// Kept is how many entries are kept for late readers, which is Nomad's default.
const Kept = 100

// Topics that Nomad's client does not define.
const (
	TopicVariable   api.Topic = "Variable"
	TopicHostVolume api.Topic = "HostVolume"
)

// Variable describes a variable, never its items.
type Variable struct {
	Metadata *api.VariableMetadata
	Deleted  bool
}

// Occurrence is an event of the event stream before its object is read: events
// are sent with the current state of the object.
type Occurrence struct {
	Topic   api.Topic
	Kind    string // Type
	Key     string
	Filters []string // further keys that find it
	Job     string   // key of the job that it is about
	Object  any      // set if it is not found by its key
}

// Entry contains the events at one index.
type Entry struct {
	Index  uint64
	Events []Occurrence
	number uint64        // position in the feed
	next   *Entry        // set before more is closed; nil: the feed has ended
	more   chan struct{} // closed when there is a next entry, or the feed has ended
}

// Feed is the event stream, a linked list of the latest entries. A reader holds
// an entry and finds the later ones from there, however slow it is.
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

// Add appends the events at an index, if there are any.
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

// Behind returns how many entries are kept only because a reader at e has not
// read them yet.
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

// From returns the entry before those at index and later. An index that is too
// old, or 0, means all kept entries; a future one means the last one again.
func (f *Feed) From(index uint64) *Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.first
	for before.next != nil && before.next != f.last && before.next.Index < index {
		before = before.next
	}
	return before
}

// More returns a channel that is closed when there is a later entry, or the
// feed has ended.
func (e *Entry) More() <-chan struct{} { return e.more }

// Next returns the next entry once More is closed, or nil at the end of the
// feed.
func (e *Entry) Next() *Entry { return e.next }
