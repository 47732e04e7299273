// Package history reads the stored events of a run: one JSON object a line,
// numbered from 1. It skips and reports damaged lines.
package history

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"taskrun/engine/leaf/event"
)

// File is the name of a history in the directory of its run.
const File = "events.json"

const (
	// maxLine is the length of the longest line that is read, in bytes.
	maxLine = 1 << 20
	// maxAllocs limits how many allocations are remembered, to share one value
	// among all events of each.
	maxAllocs = 10_000
	// maxWarnings limits how much damage is described.
	maxWarnings = 10
)

// Reader reads events one after the other. The history may grow meanwhile.
type Reader struct {
	from   *bufio.Reader
	line   []byte // the line that is being read
	long   bool   // it is longer than maxLine
	seq    uint64 // number of the last line; 0: unknown
	lines  uint64 // how many were read
	last   time.Time
	allocs map[string]*event.Alloc

	warnings   []string
	more       int            // damage that was not described
	unreadable int            // lines that are not events
	unreadAt   uint64         // the first of them
	unknown    map[string]int // events of unknown types
}

// New returns a reader of a history.
func New(from io.Reader) *Reader {
	return &Reader{from: bufio.NewReaderSize(from, 64<<10), allocs: map[string]*event.Alloc{}, unknown: map[string]int{}}
}

// Next returns the next event, with its number in the history, or io.EOF at the
// end. Later calls return events that were added since.
func (r *Reader) Next() (event.Event, error) {
	for {
		if err := r.readLine(); err != nil {
			return event.Event{}, err
		}
		e, ok := r.parse()
		r.line, r.long = r.line[:0], false
		if ok {
			return e, nil
		}
	}
}

// readLine reads the rest of a line.
func (r *Reader) readLine() error {
	for {
		piece, err := r.from.ReadSlice('\n')
		if r.long = r.long || len(r.line)+len(piece) > maxLine; !r.long {
			r.line = append(r.line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// parse parses the line, and reports whether it is an event.
func (r *Reader) parse() (event.Event, bool) {
	r.lines++
	if r.long {
		r.skip()
		return event.Event{}, false
	}
	e, err := event.ParseLine(r.line)
	unknown, newer := errors.AsType[*event.UnknownTypeError](err)
	newer = newer && unknown.Type != ""
	if err != nil && !newer {
		r.skip()
		return event.Event{}, false
	}
	r.number(e)
	if newer {
		if len(r.unknown) < maxWarnings {
			r.unknown[unknown.Type]++
		}
		return event.Event{}, false
	}
	r.share(&e)
	return e, true
}

func (r *Reader) skip() {
	if r.unreadable++; r.unreadable == 1 {
		r.unreadAt = r.lines
	}
	if r.seq > 0 {
		r.seq++
	}
}

// number looks for missing events before the next one.
func (r *Reader) number(e event.Event) {
	switch missing := int64(e.Seq - r.seq - 1); {
	case e.Seq == 0: // a history of an earlier version has no numbers
	case r.seq == 0 && (r.lines > 1 || missing == 0): // nothing is known of the lines before
	case r.last.IsZero() && missing > 0:
		r.warn("%s missing before %s", are(missing), stamp(e.Time))
	case missing > 0:
		r.warn("%s missing between %s and %s", are(missing), stamp(r.last), stamp(e.Time))
	case missing < 0:
		r.warn("the events after %s are out of order: number %d follows number %d", stamp(r.last), e.Seq, r.seq)
	}
	r.seq, r.last = e.Seq, e.Time
}

// share makes the events of an allocation share one value.
func (r *Reader) share(e *event.Event) {
	if e.Alloc == nil {
		return
	}
	if known := r.allocs[e.Alloc.ID]; known != nil && *known == *e.Alloc {
		e.Alloc = known
		return
	}
	if len(r.allocs) == maxAllocs {
		clear(r.allocs)
	}
	r.allocs[e.Alloc.ID] = e.Alloc
}

func (r *Reader) warn(format string, args ...any) {
	if len(r.warnings) == maxWarnings {
		r.more++
		return
	}
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// are says how many events are meant.
func are(n int64) string {
	if n == 1 {
		return "1 event is"
	}
	return fmt.Sprintf("%d events are", n)
}

// stamp formats a time for people.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Warnings describes what of the history is damaged, as far as it was read. A
// history that has ended cannot end within a line.
func (r *Reader) Warnings(ended bool) []string {
	all := r.warnings[:len(r.warnings):len(r.warnings)]
	if r.more > 0 {
		all = append(all, fmt.Sprintf("events are missing in %d more places", r.more))
	}
	switch {
	case r.unreadable == 1:
		all = append(all, fmt.Sprintf("line %d is not an event: it is left out", r.unreadAt))
	case r.unreadable > 1:
		all = append(all, fmt.Sprintf("%d lines are not events, the first one is line %d: they are left out", r.unreadable, r.unreadAt))
	}
	for _, kind := range slices.Sorted(maps.Keys(r.unknown)) {
		all = append(all, fmt.Sprintf("events of type %q are left out: a newer taskrun knows them", kind))
	}
	if ended && (len(r.line) > 0 || r.long) {
		all = append(all, "the last line is incomplete: later events are missing")
	}
	return all
}
