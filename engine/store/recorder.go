package store

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"taskrun/engine/leaf/event"
)

// Recorder publishes the events of a run. A durable one first stores them, with
// everything that a later engine needs to continue the run: nothing is
// published that is not stored. Its methods are safe for concurrent use.
type Recorder struct {
	bus *event.Bus

	mu      sync.Mutex // may be locked while the bus is locked, never the other way round
	journal *journal   // nil: not durable
	failing bool
	again   *time.Timer // retries failed writes; nil at first
	ended   bool

	// Of a recorder that rests at times, see Rest.
	rests  bool
	users  int
	closed bool // it rests: the journal has no files and no records
}

// againTime is the interval between attempts to write after a failure, when
// nothing else happens.
const againTime = time.Second

// NewRecorder returns a recorder that only publishes.
func NewRecorder(bus *event.Bus) *Recorder { return &Recorder{bus: bus} }

// Create returns the durable recorder of a new run. It also keeps the history
// of the run. The state starts with first. The caller must close the recorder.
func Create(bus *event.Bus, runDir string, first Change) (*Recorder, error) {
	record, err := first.record()
	var j *journal
	if err == nil {
		j, err = createJournal(runDir, record)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot store the state of the run: %w", err)
	}
	return &Recorder{bus: bus, journal: j}, nil
}

// Open returns the durable recorder of an interrupted run. If its state is
// unusable, Open sets it aside and returns the reason.
func Open(bus *event.Bus, runDir string) (*Recorder, error) {
	j, err := openJournal(runDir)
	if err != nil {
		return nil, fmt.Errorf("cannot read the state of the run: %w", err)
	}
	return &Recorder{bus: bus, journal: j}, nil
}

// Durable reports whether the recorder stores anything.
func (r *Recorder) Durable() bool { return r.journal != nil }

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
		defer r.idle()
		if err = errors.Join(err, r.open()); !r.closed {
			err = errors.Join(err, remember(record, events, r.journal), r.journal.write(record))
		}
		news = r.told(err)
	})
	r.tell(news)
}

// tell publishes a notice, unless news is empty.
func (r *Recorder) tell(news string) {
	if news != "" {
		r.bus.Publish(nil, "", event.Notice{Text: news})
	}
}

// retry writes the state that could not be written.
func (r *Recorder) retry() {
	r.mu.Lock()
	news := ""
	if r.failing && !r.ended {
		err := r.open()
		if err == nil {
			err = r.journal.write(&record{Seq: r.journal.seq})
		}
		news = r.told(err)
		r.idle()
	}
	r.mu.Unlock()
	r.tell(news)
}

// told returns the news about an error of writing, or "".
func (r *Recorder) told(err error) (news string) {
	switch {
	case err != nil && !r.failing:
		news = fmt.Sprintf("cannot store the state of the run, so a later engine could not continue it: %v", err)
	case err == nil && r.failing:
		news = "the state of the run is stored again"
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

// Repeats reports whether an event is the same as the latest one of its kind.
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

// Past returns the remembered events, in order, and the number of the last
// event of the run.
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
		if e.Alloc != nil { // share one value for each allocation
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

// Keys returns the stored keys below a prefix, sorted. Only durable recorders
// have Keys and Get.
func (r *Recorder) Keys(prefix Key) (keys []Key) {
	_ = r.use(func(j *journal) error {
		keys = j.keys(prefix)
		return nil
	})
	return keys
}

// Get reads the record with a key into a value. It reports whether the record
// exists.
func (r *Recorder) Get(key Key, into any) (ok bool, err error) {
	err = r.use(func(j *journal) error {
		text := j.values[key]
		if ok = text != nil; !ok {
			return nil
		}
		return decode(key, text, into)
	})
	return ok, err
}

// use calls f with the journal, whose files are open for that time.
func (r *Recorder) use(f func(*journal) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.open(); err != nil {
		return err
	}
	defer r.idle()
	return f(r.journal)
}

// HaltWhen makes the recorder call f before and after every write. Once f returns
// true, the recorder writes nothing more, as if the program had been killed.
func (r *Recorder) HaltWhen(f func() bool) {
	if r.journal != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.journal.halt = f
	}
}

// Halted reports whether the recorder has stopped writing; see HaltWhen.
func (r *Recorder) Halted() bool {
	if r.journal == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.ended && r.journal.stops()
}

// Remove closes the recorder of a run that has ended, and removes everything it
// stored except the history.
func (r *Recorder) Remove() error { return r.end(true) }

// Close closes the recorder and keeps the stored state.
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
	if r.closed {
		return err
	}
	return errors.Join(err, r.journal.close())
}

// open opens the files of a resting recorder. The caller must hold the lock.
func (r *Recorder) open() error {
	if !r.closed || r.ended || r.journal.stops() {
		return nil
	}
	j, err := openJournal(r.journal.runDir())
	if err != nil {
		return err
	}
	j.halt, j.keeps = r.journal.halt, true
	r.journal, r.closed = j, false
	return nil
}

// idle closes the files unless somebody needs them. The caller must hold the lock.
func (r *Recorder) idle() {
	if r.users > 0 || !r.rests || r.closed || r.ended || r.failing || r.journal.stops() {
		return
	}
	_ = r.journal.close() // nothing is buffered
	r.journal.values, r.journal.text, r.closed = nil, "", true
}
