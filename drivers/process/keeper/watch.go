package keeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"
	"time"

	"taskrun/drivers/process"
)

// Watch is the side of the run: it writes the record and starts the keeper. All
// methods are safe for concurrent use.
type Watch struct {
	notice  func(string) // for Begin and later
	helpers *process.Run
	begin   sync.Once
	opened  chan struct{}
	keeping sync.WaitGroup
	closing chan struct{}

	// For a detached run.
	link     *link // nil for a run in the foreground
	greeting sync.Once
	greeted  error
	forking  sync.Mutex // from the intent of a process until its PID is known

	mu       sync.Mutex
	lock     *os.File            // see Lock; may be nil
	recalled map[process.ID]cell // processes that earlier instances started
	record   *record             // nil until it is open
	broken   error               // why it cannot be opened
	queue    []func(*record)
	marked   bool
	closed   bool
	pipe     *os.File // to the current keeper
}

var _ process.Journal = (*Watch)(nil)

// New returns the watch of this program's runs. The caller must call Begin and
// Close.
func New() *Watch {
	return &Watch{helpers: process.NewHelpers(), link: joined, opened: make(chan struct{}), closing: make(chan struct{})}
}

// Begin creates the record in the background, in dir, which must be private to
// the user. If dir is empty, nothing can be found after both programs were
// killed. From now on every started process is watched. Errors of the record or
// the keeper become notices; the run continues without them. In a detached run,
// the keeper has already created the record.
func (w *Watch) Begin(dir string, notice func(string)) {
	w.mu.Lock()
	w.notice = notice
	w.mu.Unlock()
	process.SetJournal(w)
	if w.link != nil {
		w.open(w.inherit)
		return
	}
	w.keeping.Go(func() { w.open(func() (*record, error) { return createRecord(dir) }) })
}

// Lock makes the keeper hold a lock of this program until it has cleaned up after
// it. A later program with the same allocations, whose processes look like those
// of this one, must wait for that. Call it before the first process starts.
func (w *Watch) Lock(f *os.File) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lock = f
}

// say reports a notice.
func (w *Watch) say(text string) {
	w.mu.Lock()
	notice := w.notice
	w.mu.Unlock()
	if notice != nil {
		notice(text)
	}
}

func (w *Watch) open(record func() (*record, error)) {
	defer close(w.opened)
	r, err := record()
	if err != nil {
		w.say(err.Error())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.record, w.broken = r, err
	if err == nil {
		for _, f := range w.queue {
			f(r)
		}
	}
	w.queue = nil
}

// write calls f with the record, now or once it is open.
func (w *Watch) write(f func(*record)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.record != nil:
		f(w.record)
	case w.broken == nil:
		w.queue = append(w.queue, f)
	}
}

// send sends a message to the keeper, if it restarts this program.
func (w *Watch) send(m message) error {
	if w.link == nil {
		return nil
	}
	return w.link.line.send(m)
}

// put adds a line to the record.
func (w *Watch) put(format string, args ...any) {
	w.write(func(r *record) { r.put(fmt.Sprintf(format, args...), 0) })
}

// Run records the directory of a run, see datadir.Run. The secrets in it must
// be removed.
func (w *Watch) Run(dir string) { w.put("dir %q", dir) }

// Keep records the directory of a run that a later program continues, even if this
// one is killed with its processes. Nothing in it is removed.
func (w *Watch) Keep(dir string) { w.put("kept %q", dir) }

// Socket records a path at which this program listens.
func (w *Watch) Socket(path string) { w.put("socket %q", path) }

// Scratch records a scratch directory, see scratch.Make. It is removed
// after the run.
func (w *Watch) Scratch(dir string) { w.put("scratch %q", dir) }

// Lasting records that a driver has tasks that are not processes, and the reference
// to find them; see drivers.Lasting. Such tasks need the keeper, too. Lasting waits
// until the record is written: without it, they could not be found.
func (w *Watch) Lasting(driver, ref string) {
	<-w.opened
	w.put("lasting %q %q", driver, ref)
	if w.link == nil {
		w.ensureKeeper()
	}
}

// Intend implements process.Journal. The first process starts the keeper. In a
// detached run, a second process is forked only after the first one is recorded, so
// that at most one is unrecorded. Intend waits until the record is written, which
// takes time on a busy disk: if this program were killed before, the process could
// not be found.
func (w *Watch) Intend(tag string) process.Entry {
	<-w.opened
	if w.link != nil {
		w.forking.Lock()
		e := &entry{watch: w, tag: tag, intended: true}
		w.write(func(r *record) {
			c := r.put(intentLine(tag), len(processLine(process.ID{PID: math.MaxInt, Start: math.MaxInt}, tag)))
			e.cell = &c
		})
		return e
	}
	w.mu.Lock()
	first := !w.marked
	w.marked = true
	w.mu.Unlock()
	if number, _ := process.Mark(); first && number != 0 {
		w.put("mark %d", number)
	}
	return &entry{watch: w, tag: tag}
}

// entry is a process in the record.
type entry struct {
	watch    *Watch
	tag      string
	cell     *cell // nil: not in the record yet
	intended bool  // the cell contains the intent
}

func (e *entry) Started(id process.ID) {
	if e.intended {
		e.intended = false
		e.watch.write(func(r *record) {
			if e.cell != nil {
				r.set(*e.cell, processLine(id, e.tag))
			}
		})
		e.watch.forking.Unlock()
		return
	}
	e.watch.write(func(r *record) {
		c := r.put(processLine(id, e.tag), 0)
		e.cell = &c
	})
	e.watch.ensureKeeper()
}

// ensureKeeper starts, once, the goroutine that keeps a keeper running. It
// returns false if the watch is closed.
func (w *Watch) ensureKeeper() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.begin.Do(func() { w.keeping.Go(w.keep) })
	return true
}

func (e *entry) Remove() {
	e.watch.write(func(r *record) {
		if e.cell != nil {
			r.blank(*e.cell)
		}
	})
	if e.intended {
		e.intended = false
		e.watch.forking.Unlock()
	}
}

// keep keeps a keeper running until the watch is closed.
func (w *Watch) keep() {
	for deaths := 0; deaths < maxDeaths; {
		began := time.Now()
		p, err := w.start()
		if err != nil {
			w.say(fmt.Sprintf("nothing will clean up if taskrun is killed: %v", err))
			return
		}
		if p == nil {
			return // the watch is closed
		}
		select {
		case <-p.Done():
		case <-w.closing:
			return
		}
		deaths = deathsInARow(deaths, time.Since(began), quick)
	}
	w.say("nothing will clean up if taskrun is killed: its keeper was killed again and again")
}

// start starts a keeper, unless the watch is closed.
func (w *Watch) start() (*process.Process, error) {
	<-w.opened
	select {
	case <-w.closing:
		return nil, nil
	default:
	}
	if w.broken != nil {
		return nil, w.broken
	}
	path, err := Program()
	if err != nil {
		return nil, fmt.Errorf("cannot find this program: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start a keeper: %w", err)
	}
	defer read.Close()
	w.mu.Lock()
	files := []*os.File{read, w.record.file, w.record.file, cmp.Or(w.lock, w.record.file)}
	w.mu.Unlock()
	if _, claim := process.Mark(); claim != nil {
		files[2] = claim
	}
	p, err := w.helpers.Start(process.Spec{
		Path: path, Name: "taskrun", Args: []string{"keeper", "of", strconv.Itoa(os.Getpid())},
		// It also has to wait for a CPU, like the first task.
		Env: []string{roleVar + "=" + watchRole, pathVar + "=" + w.record.path, "GOMAXPROCS=1"},
		Dir: "/", Files: files,
	})
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pipe != nil {
		w.pipe.Close() // to the one that died
	}
	w.pipe = write
	return p, nil
}

// Close ends the watch. If the run is clean, the keeper ends with it; otherwise
// the keeper cleans up, and this program should end.
func (w *Watch) Close(clean bool) error {
	if w.notice == nil {
		return nil // Begin was not called
	}
	_ = w.send(message{Over: &over{Clean: clean}}) // a dead keeper needs none
	process.SetJournal(nil)
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	close(w.closing)
	w.keeping.Wait()
	w.mu.Lock()
	r, pipe := w.record, w.pipe
	w.mu.Unlock() // the reaper, which buries the keeper, may still remove entries
	if r == nil || !clean {
		return nil // the end of this program tells the keeper
	}
	err := errors.Join(r.failure(), r.remove())
	_, dismissed := w.helpers.Shutdown(context.Background())
	if pipe != nil {
		err = errors.Join(err, pipe.Close())
	}
	return errors.Join(err, dismissed)
}

// inherit opens the record of a detached run.
func (w *Watch) inherit() (*record, error) {
	if err := w.greet(); err != nil {
		return nil, err
	}
	r, c, err := openRecord(w.link.record, w.link.welcome.Record)
	if err != nil {
		return nil, err
	}
	w.recalled = map[process.ID]cell{}
	for _, p := range c.started {
		w.recalled[p.ID] = p.cell
	}
	return r, nil
}

// greet reads the keeper's state once.
func (w *Watch) greet() error {
	w.greeting.Do(func() {
		w.greeted = w.link.greet(func() {
			if w.ensureKeeper() {
				w.say("the keeper of the run was killed: from now on the run ends when this program does")
			}
		})
	})
	return w.greeted
}
