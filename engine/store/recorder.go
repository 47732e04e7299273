package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"taskrun/engine/leaf/event"
)

// Recorder publishes what happens in a run. One that is durable stores it
// first, with what a later engine needs to take up the run when this one dies:
// whatever anybody has heard of was stored. Its methods may be called from
// several goroutines at once.
type Recorder struct {
	bus *event.Bus

	mu      sync.Mutex // taken while the bus is locked, never the other way round
	journal *journal   // nil: not durable
	failing bool
	again   *time.Timer // tries to write while that fails; nil at first
	ended   bool
}

// againTime is the time between two attempts to write what could not be
// written, when nothing else happens.
const againTime = time.Second

// NewRecorder returns a recorder that only publishes.
func NewRecorder(bus *event.Bus) *Recorder { return &Recorder{bus: bus} }

// Create returns the durable recorder of a new run, which has this directory.
// It keeps the history of the run as well. First is stored from the beginning.
// It must be closed.
func Create(bus *event.Bus, runDir string, first Change) (*Recorder, error) {
	record, err := first.record()
	var j *journal
	if err == nil {
		j, err = createJournal(runDir, record)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot keep the state of the run: %w", err)
	}
	return &Recorder{bus: bus, journal: j}, nil
}

// Open returns the durable recorder of a run that was interrupted. The error
// tells why its state is of no use; it was set aside then.
func Open(bus *event.Bus, runDir string) (*Recorder, error) {
	j, err := openJournal(runDir)
	if err != nil {
		return nil, fmt.Errorf("cannot read the state of the run in %q: %w", runDir, err)
	}
	return &Recorder{bus: bus, journal: j}, nil
}

// Durable reports whether anything is stored.
func (r *Recorder) Durable() bool { return r.journal != nil }

// Change is what happens at once: it is stored whole or not at all. The zero
// value is nothing.
type Change struct {
	puts   map[Key]any
	drops  []Key
	all    []Key // to be dropped with all below them
	events []event.Event
}

// Put stores a value, in place of an earlier one. It must be one that
// encoding/json can write, and not be written to before the Commit.
func (c *Change) Put(key Key, value any) {
	if c.puts == nil {
		c.puts = map[Key]any{}
	}
	c.puts[key] = value
}

// Drop removes what is stored under a key, before any Put of the same change.
func (c *Change) Drop(key Key) { c.drops = append(c.drops, key) }

// DropAll removes what is stored under a key and below it. It takes as long as
// there is much.
func (c *Change) DropAll(prefix Key) { c.all = append(c.all, prefix) }

// Add adds an event.
func (c *Change) Add(e event.Event) { c.events = append(c.events, e) }

// Reset makes the change nothing again.
func (c *Change) Reset() {
	clear(c.puts)
	clear(c.events)
	c.drops, c.all, c.events = c.drops[:0], c.all[:0], c.events[:0]
}

func (c *Change) isEmpty() bool { return len(c.puts)+len(c.drops)+len(c.all)+len(c.events) == 0 }

// Commit stores a change and publishes its events.
func (r *Recorder) Commit(c Change) {
	if c.isEmpty() {
		return
	}
	if r.journal == nil {
		r.bus.Commit(c.events, nil)
		return
	}
	record, err := c.record()
	var news string
	r.bus.Commit(c.events, func(events []event.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		err = errors.Join(err, remember(record, events, r.journal), r.journal.write(record))
		news = r.told(err)
	})
	r.tell(news)
}

// tell tells everybody, unless there is nothing to tell.
func (r *Recorder) tell(news string) {
	if news != "" {
		r.bus.Publish(nil, "", event.Notice{Text: news})
	}
}

// retry writes what could not be written.
func (r *Recorder) retry() {
	r.mu.Lock()
	news := ""
	if r.failing && !r.ended {
		news = r.told(r.journal.write(&record{Seq: r.journal.seq}))
	}
	r.mu.Unlock()
	r.tell(news)
}

// told returns what is new about writing.
func (r *Recorder) told(err error) (news string) {
	switch {
	case err != nil && !r.failing:
		news = fmt.Sprintf("cannot keep the state of the run, which could not be taken up again now: %v", err)
	case err == nil && r.failing:
		news = "the state of the run is kept again"
	}
	if r.failing = err != nil; r.failing {
		if r.again == nil {
			r.again = time.AfterFunc(againTime, r.retry)
		} else {
			r.again.Reset(againTime)
		}
	}
	return news
}

// record is the change as it is stored, without its events.
func (c *Change) record() (*record, error) {
	rec := &record{Drop: c.drops, All: c.all, Put: make(map[Key]json.RawMessage, len(c.puts)+len(c.events))}
	for key, value := range c.puts {
		text, err := json.Marshal(value)
		if err != nil {
			return rec, err
		}
		rec.Put[key] = text
	}
	return rec, nil
}

// Of the events the latest of each kind is stored, and the first of each
// allocation and deployment.
const past = "event"

// remember adds numbered events to a record: as lines of the history and as
// values.
func remember(rec *record, events []event.Event, j *journal) error {
	rec.Seq = j.seq
	var text strings.Builder
	enc := json.NewEncoder(&text)
	for _, e := range events {
		rec.Seq = e.Seq
		if err := enc.Encode(e); err != nil {
			return err
		}
		stored, err := e.Store()
		if err != nil {
			return err
		}
		value, err := json.Marshal(stored)
		if err != nil {
			return err
		}
		rec.Put[pastKey(e)] = value
		if first := firstKey(e); j.values[first] == nil && rec.Put[first] == nil {
			rec.Put[first] = value
		}
	}
	rec.Text = text.String()
	return nil
}

// pastKey is where the latest of such events is stored.
func pastKey(e event.Event) Key {
	kind := event.Kind(e.Body)
	switch b := e.Body.(type) {
	case event.Deployment: // which concerns no single allocation
		return KeyOf(past, "", b.Job, kind, b.ID)
	case event.Version:
		return KeyOf(past, "", b.Job, kind, strconv.FormatUint(b.Number, 10))
	case event.Evaluation:
		if b.Alloc == "" {
			return KeyOf(past, "", b.Job, kind, b.ID)
		}
		return KeyOf(past, b.Alloc, "", kind, string(b.Trigger)) // forgotten with the allocation
	case event.Service:
		return KeyOf(past, e.Alloc.ID, e.Task, kind, b.ID)
	case event.Check:
		return KeyOf(past, e.Alloc.ID, e.Task, kind, b.Service, b.Check)
	}
	if e.Alloc == nil {
		return KeyOf(past, "", e.Task, kind)
	}
	return KeyOf(past, e.Alloc.ID, e.Task, kind)
}

// firstKey is where the first event of an allocation, deployment or version is
// stored.
func firstKey(e event.Event) Key {
	switch b := e.Body.(type) {
	case event.Deployment:
		return KeyOf(past, "", b.Job, "first", b.ID)
	case event.Version:
		return KeyOf(past, "", b.Job, "first version", strconv.FormatUint(b.Number, 10))
	}
	if e.Alloc == nil {
		return KeyOf(past, "", "", "first")
	}
	return KeyOf(past, e.Alloc.ID, "", "first")
}

// Repeats reports whether an event says nothing but what the latest of its
// kind has said.
func (r *Recorder) Repeats(e event.Event) bool {
	if r.journal == nil || event.Kind(e.Body) == "" {
		return false
	}
	var last event.Stored
	if ok, err := r.Get(pastKey(e), &last); !ok || err != nil {
		return false
	}
	before, err := last.Event()
	return err == nil && reflect.DeepEqual(before.Body, e.Body)
}

// ForgetAlloc adds to a change that what is known of an allocation's events is
// dropped.
func (c *Change) ForgetAlloc(id string) { c.DropAll(KeyOf(past, id)) }

// ForgetVersion adds to a change that what is known of the events of a version
// of a job, and of its deployment, is dropped.
func (c *Change) ForgetVersion(job string, number uint64, deployment string) {
	for _, e := range []event.Event{{Body: event.Version{Job: job, Number: number}}, {Body: event.Deployment{Job: job, ID: deployment}}} {
		c.drops = append(c.drops, pastKey(e), firstKey(e))
	}
}

// ForgetEvaluation adds to a change that an evaluation is dropped.
func (c *Change) ForgetEvaluation(v event.Evaluation) { c.Drop(pastKey(event.Event{Body: v})) }

// Past returns the events that are remembered, in order, and the number of the
// last one there was.
func (r *Recorder) Past() (events []event.Event, last uint64, err error) {
	allocs := map[string]*event.Alloc{}
	seen := map[uint64]bool{}
	for _, key := range r.Keys(KeyOf(past)) {
		var stored event.Stored
		if _, err := r.Get(key, &stored); err != nil {
			return nil, 0, err
		}
		e, err := stored.Event()
		if err != nil {
			return nil, 0, err
		}
		if e.Alloc != nil { // one value for one allocation
			if known := allocs[e.Alloc.ID]; known != nil {
				e.Alloc = known
			}
			allocs[e.Alloc.ID] = e.Alloc
		}
		if !seen[e.Seq] {
			seen[e.Seq] = true
			events = append(events, e)
		}
	}
	slices.SortFunc(events, func(a, b event.Event) int { return int(a.Seq) - int(b.Seq) })
	return events, r.journal.seq, nil
}

// Keys returns the stored keys below a prefix, sorted. It and Get are for a
// durable recorder.
func (r *Recorder) Keys(prefix Key) []Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.journal.keys(prefix)
}

// Get reads what is stored under a key, if anything is.
func (r *Recorder) Get(key Key, into any) (ok bool, err error) {
	r.mu.Lock()
	text, ok := r.journal.values[key]
	r.mu.Unlock()
	if !ok {
		return false, nil
	}
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber() // numbers in the config of tasks stay what they are
	if err := dec.Decode(into); err != nil {
		return true, fmt.Errorf("cannot read what is stored as %q: %w", key.Parts(), err)
	}
	return true, nil
}

// HaltWhen has f asked before and after everything that is written; once it
// says true nothing is written any more, as if the program had been killed.
func (r *Recorder) HaltWhen(f func() bool) {
	if r.journal != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.journal.halt = f
	}
}

// Remove removes what was stored, when the run has ended, but for its history,
// and closes the recorder.
func (r *Recorder) Remove() error { return r.end(true) }

// Close closes the recorder and keeps what is stored.
func (r *Recorder) Close() error { return r.end(false) }

func (r *Recorder) end(remove bool) (err error) {
	if r.journal == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true // see retry
	if remove {
		err = r.journal.remove()
	}
	r.journal.halted = true
	return errors.Join(err, r.journal.close())
}
