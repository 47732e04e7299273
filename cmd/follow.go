package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/tasklog"
)

// followed shows a run from outside: its events come from the history and the
// output from its files, which both outlive an engine. The engine only tells
// when there is more of them.
type followed struct {
	*liveRun
	bus       event.Bus
	histories []*history
	mu        sync.Mutex // over changes of outputs, and looks of others than run
	outputs   map[outputKey]*followedOutput
	wake      chan struct{}
	silent    bool // no output
	whole     bool // all output there is, not only what is still to come
	caughtUp  bool // with the past
	pieces    *event.Pieces
	stopped   <-chan struct{}
}

// follow opens a run to be followed. It must be closed.
func (v *liveRun) follow() (*followed, error) {
	f := &followed{liveRun: v, outputs: map[outputKey]*followedOutput{}, wake: make(chan struct{}, 1), pieces: event.NewPieces(maxPieces)}
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
				err = f.pumpAll()
			}
			if err != nil {
				return nil, err
			}
			return f.summary()
		}
	}
}

// pump publishes what is new: of no output so much that others have to wait.
func (f *followed) pump() error {
	for _, key := range slices.SortedFunc(maps.Keys(f.outputs), outputKey.compare) {
		more, err := f.read(key, maxPieces)
		if err != nil {
			return err
		}
		if more {
			f.alert()
		}
	}
	events, err := f.past()
	for _, e := range events {
		f.publish(e)
	}
	return err
}

// pumpAll publishes the rest when nothing is written any more.
func (f *followed) pumpAll() error {
	for {
		if err := f.pump(); err != nil {
			return err
		}
		select {
		case <-f.wake:
		default:
			return nil
		}
	}
}

// alert wakes whoever reads.
func (f *followed) alert() {
	select {
	case f.wake <- struct{}{}:
	default: // it is told already
	}
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
				_, _ = f.read(key, 0) // pump tells of its error
			case body.Type == api.TaskStarted:
				o := f.open(e.Alloc, key)
				f.mu.Lock()
				f.outputs[key] = o
				f.mu.Unlock()
			}
		}
	}
}

// followedOutput is one output of a task.
type followedOutput struct {
	alloc  *event.Alloc
	files  *tasklog.Reader
	told   int64 // bytes that are left out, as was said
	failed error
}

func (f *followed) open(alloc *event.Alloc, key outputKey) *followedOutput {
	o := &followedOutput{alloc: alloc}
	whence := io.SeekStart
	if !f.caughtUp && !f.whole {
		whence = io.SeekEnd
	}
	o.files, o.failed = tasklog.OpenReader(f.logs(alloc.Job, key.alloc), key.task, key.stream, 0, whence)
	if errors.Is(o.failed, fs.ErrNotExist) {
		o.failed = nil // the allocation was removed
	}
	return o
}

// read publishes what an output has more, in so many pieces at most, and
// reports whether there may be yet more; 0 pieces mean all.
func (f *followed) read(key outputKey, pieces int) (more bool, err error) {
	o := f.outputs[key]
	if o.files == nil {
		return false, o.failed
	}
	for i := 1; ; i++ {
		buf := make([]byte, pieceSize)
		n, err := o.files.Read(buf)
		if skipped := o.files.Skipped(); skipped > o.told {
			f.bus.Publish(o.alloc, key.task, event.Gap{Stream: key.stream, Bytes: skipped - o.told})
			o.told = skipped
		}
		if n > 0 {
			f.pieces.Publish(&f.bus, o.alloc, key.task, key.stream, buf[:n], f.stopped)
		}
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			o.failed = fmt.Errorf("cannot read %s of task %q: %w", key.stream, key.task, err)
			return false, errors.Join(o.failed, o.files.Close())
		case i == pieces:
			return true, nil
		}
	}
}

// maxPieces is how many pieces of output may wait to be shown.
const maxPieces = 64

// watch wakes whoever reads, until the run has ended.
func (f *followed) watch(ctx context.Context) error {
	return f.attend(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var hearing sync.WaitGroup
		defer hearing.Wait()
		if !f.silent {
			hearing.Go(func() {
				hear(ctx, f.server, "", func(t *client.Task, stream event.Stream) func([]byte, string) {
					return f.hears(t, stream)
				})
			})
		}
		f.server.Changes(ctx, f.jobs, f.alert)
		cancel()
	})
}

// hears returns what to do when there is more of an output.
func (f *followed) hears(t *client.Task, stream event.Stream) func([]byte, string) {
	alloc := &event.Alloc{Job: t.Alloc.JobID, Group: t.Alloc.TaskGroup, Name: t.Alloc.Name, ID: t.Alloc.ID}
	key := outputKey{alloc.ID, t.Name, stream}
	return func(output []byte, missing string) {
		if missing != "" {
			f.bus.Publish(alloc, t.Name, event.Notice{Text: fmt.Sprintf("%s: %s", stream, missing)})
		}
		if len(output) > 0 {
			f.pieces.Publish(&f.bus, alloc, key.task, key.stream, output, f.stopped)
		}
		f.mu.Lock()
		o := f.outputs[key]
		f.mu.Unlock()
		if o != nil && o.files != nil {
			o.files.Hold()
		}
		f.alert()
	}
}
