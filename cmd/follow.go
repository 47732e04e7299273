package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/ui"
	"taskrun/engine/allocdir"
	"taskrun/engine/event"
	"taskrun/engine/tasklog"
)

// followed shows a run from outside: its events come from the history and the
// output from its files, which both outlive an engine. The engine only tells
// when there is more of them.
type followed struct {
	*liveRun
	bus       event.Bus
	histories []*history
	outputs   map[outputKey]*followedOutput
	wake      chan struct{}
	silent    bool // no output
	whole     bool // all output there is, not only what is still to come
	caughtUp  bool // with the past
	places    chan struct{}
	stopped   <-chan struct{}
}

// follow opens a run to be followed. It must be closed.
func (v *liveRun) follow() (*followed, error) {
	f := &followed{liveRun: v, outputs: map[outputKey]*followedOutput{}, wake: make(chan struct{}, 1), places: make(chan struct{}, maxPieces)}
	for _, job := range v.jobs {
		h, err := openHistory(v.self.Runs[job])
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
		f.histories = append(f.histories, h)
	}
	return f, nil
}

func (f *followed) close() error {
	f.bus.Close()
	for _, h := range f.histories {
		h.close()
	}
	var errs []error
	for _, o := range f.outputs {
		if o.files != nil {
			errs = append(errs, o.files.Close())
		}
	}
	return errors.Join(errs...)
}

// past returns what has happened until now.
func (f *followed) past() (events []event.Event, err error) {
	for _, h := range f.histories {
		more, failure := h.next()
		events, err = append(events, more...), errors.Join(err, failure)
	}
	slices.SortStableFunc(events, func(a, b event.Event) int { return a.Time.Compare(b.Time) })
	return events, err
}

// run publishes what happens until the run has ended or ctx has. It returns how
// the run ended.
func (f *followed) run(ctx context.Context, past []event.Event) (*ui.Summary, error) {
	watching := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.stopped = ctx.Done()
	for _, e := range past {
		f.publish(e)
	}
	f.caughtUp = true
	go func() { watching <- f.watch(ctx) }()
	for {
		select {
		case <-f.wake:
			if err := f.pump(); err != nil {
				cancel()
				<-watching //nolint:errcheck // the other error is the first
				return nil, err
			}
		case err := <-watching:
			if err == nil {
				err = f.pump() // the rest
			}
			if err != nil {
				return nil, err
			}
			return f.summary()
		}
	}
}

// pump publishes what is new.
func (f *followed) pump() error {
	for _, key := range slices.SortedFunc(maps.Keys(f.outputs), outputKey.compare) {
		if err := f.read(key); err != nil {
			return err
		}
	}
	events, err := f.past()
	for _, e := range events {
		f.publish(e)
	}
	return err
}

func (k outputKey) compare(o outputKey) int {
	if c := strings.Compare(k.alloc+k.task, o.alloc+o.task); c != 0 {
		return c
	}
	return int(k.stream) - int(o.stream)
}

// publish passes an event on, behind what its task has written before.
func (f *followed) publish(e event.Event) {
	f.look(e)
	f.bus.PublishAt(e.Time, e.Alloc, e.Task, e.Body)
}

// look opens the output of a task that starts, and reads that of others.
func (f *followed) look(e event.Event) {
	if body, ok := e.Body.(event.TaskEvent); ok && !f.silent {
		for _, stream := range []event.Stream{event.Stdout, event.Stderr} {
			key := outputKey{e.Alloc.ID, e.Task, stream}
			switch {
			case f.outputs[key] != nil && !f.caughtUp && !f.whole: // that is past
			case f.outputs[key] != nil:
				_ = f.read(key) // pump tells of its error
			case body.Type == api.TaskStarted:
				f.outputs[key] = f.open(e.Alloc, key)
			}
		}
	}
}

// followedOutput is one output of a task.
type followedOutput struct {
	alloc  *event.Alloc
	files  *tasklog.Reader
	failed error
}

func (f *followed) open(alloc *event.Alloc, key outputKey) *followedOutput {
	o := &followedOutput{alloc: alloc}
	whence := io.SeekStart
	if !f.caughtUp && !f.whole {
		whence = io.SeekEnd
	}
	job := alloc.Job
	if f.self.Runs[job] == "" { // it runs in the name of another one
		for _, parent := range f.jobs {
			if strings.HasPrefix(job, parent+"/") {
				job = parent
			}
		}
	}
	dir := filepath.Join(f.self.Runs[job], "alloc", key.alloc)
	o.files, o.failed = tasklog.OpenReader(allocdir.SharedOf(dir).Logs, key.task, key.stream, 0, whence)
	if errors.Is(o.failed, fs.ErrNotExist) {
		o.failed = nil // the allocation was removed
	}
	return o
}

// read publishes what an output has more.
func (f *followed) read(key outputKey) error {
	o := f.outputs[key]
	if o.files == nil {
		return o.failed
	}
	for {
		buf := make([]byte, pieceSize)
		n, err := o.files.Read(buf)
		if n > 0 {
			f.show(o, key, buf[:n])
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			o.failed = fmt.Errorf("cannot read %s of task %q: %w", key.stream, key.task, err)
			return errors.Join(o.failed, o.files.Close())
		}
	}
}

// maxPieces is how many pieces of output may wait to be shown.
const maxPieces = 64

// piece is some output in memory, which takes a place until it was shown.
type piece struct {
	text     []byte
	places   chan struct{}
	retained atomic.Bool
}

func (p *piece) ReadAt(b []byte, off int64) (int, error) {
	n := copy(b, p.text[min(off, int64(len(p.text))):])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Retain is called once, for there is one subscription; or never when that has
// ended.
func (p *piece) Retain() { p.retained.Store(true) }

// Release gives the place back.
func (p *piece) Release() { <-p.places }

// show publishes a piece as soon as there is a place for it.
func (f *followed) show(o *followedOutput, key outputKey, text []byte) {
	p := &piece{text: text, places: f.places}
	select {
	case f.places <- struct{}{}:
	case <-f.stopped:
		return // nobody looks any more
	}
	f.bus.Publish(o.alloc, key.task, event.Output{Stream: key.stream, Source: p, Length: int64(len(text))})
	if !p.retained.Load() {
		p.Release()
	}
}

// backTime is how long an engine may take to come back when it has died.
const (
	backTime  = 15 * time.Second
	backPause = 20 * time.Millisecond
)

// watch wakes whoever reads, until the run has ended.
func (f *followed) watch(ctx context.Context) error {
	alert := func() {
		select {
		case f.wake <- struct{}{}:
		default: // it is told already
		}
	}
	var gone time.Time // since when nothing answers
	for {
		f.connection(ctx, func() {
			gone = time.Time{}
			alert()
		})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if s, err := f.summary(); s != nil || err != nil {
			return err
		}
		if gone.IsZero() {
			gone = time.Now()
		}
		if time.Since(gone) > backTime {
			return fmt.Errorf("the run was killed: nothing answers at %s any more", f.server.Socket)
		}
		select {
		case <-time.After(backPause): // the keeper starts another engine
		case <-ctx.Done():
		}
	}
}

// connection watches one engine until it ends.
func (f *followed) connection(ctx context.Context, alert func()) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var readers sync.WaitGroup
	defer readers.Wait()
	reading := map[outputKey]bool{}
	readers.Go(func() {
		if f.silent {
			return
		}
		_ = f.server.Watch(ctx, "", func(tasks []*client.Task) {
			for _, t := range tasks {
				for _, stream := range []event.Stream{event.Stdout, event.Stderr} {
					key := outputKey{t.Alloc.ID, t.Name, stream}
					mu.Lock()
					known := reading[key]
					reading[key] = true
					mu.Unlock()
					if !known && t.Started() && !t.Ended() {
						readers.Go(func() { hearOutput(ctx, t, stream, alert) })
					} else if !known {
						mu.Lock()
						delete(reading, key)
						mu.Unlock()
					}
				}
			}
		})
	})
	f.server.Changes(ctx, f.jobs, alert)
	cancel()
}

// hearOutput calls more when an output has more, until it ends.
func hearOutput(ctx context.Context, t *client.Task, stream event.Stream, more func()) {
	out, err := t.Open(ctx, client.Log{Stream: stream.String(), Follow: true})
	if err != nil {
		return // whoever asks the engine next will know
	}
	defer out.Close()
	for buf := make([]byte, pieceSize); ; more() {
		if _, err := out.Read(buf); err != nil {
			return
		}
	}
}

// summary is how the run ended, nil when it has not.
func (f *followed) summary() (*ui.Summary, error) {
	var first *ui.Summary
	for _, job := range f.jobs {
		s, err := readSummary(f.self.Runs[job])
		if s == nil || err != nil {
			return nil, err
		}
		first = s
	}
	return first, nil
}
