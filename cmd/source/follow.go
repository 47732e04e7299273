package source

import (
	"context"
	"errors"
	"slices"
	"time"

	"taskrun/engine/leaf/event"
)

// Began returns the time of the first event, or the current time before that.
func (d *Directory) Began() (time.Time, error) {
	err := d.load()
	if err != nil || len(d.past) == 0 {
		return time.Now(), err
	}
	return d.past[0].Time, nil
}

// Past returns the past events. Follow publishes output from now on.
func (d *Directory) Past(context.Context) ([]event.Event, error) {
	err := d.load()
	past := d.past
	d.past, d.atEnd = nil, true
	for _, e := range past {
		d.prepare(e)
	}
	d.atEnd = false
	return past, err
}

// load reads the events since the last call.
func (d *Directory) load() (err error) {
	if d.Detail > Events {
		return nil
	}
	if d.histories == nil {
		for _, job := range d.IDs {
			h, err := openHistory(d.Self.Runs[job])
			if err != nil {
				return err
			}
			d.histories = append(d.histories, h)
		}
	}
	var events []event.Event
	for _, h := range d.histories {
		more, failure := h.next()
		events, err = append(events, more...), errors.Join(err, failure)
	}
	slices.SortStableFunc(events, func(a, b event.Event) int { return a.Time.Compare(b.Time) })
	d.past = append(d.past, events...)
	return err
}

// publish publishes the loaded events, each one after the earlier output of its
// task.
func (d *Directory) publish() {
	for _, e := range d.past {
		d.prepare(e)
		d.bus.PublishAt(e.Time, e.Alloc, e.Task, e.Body)
	}
	d.past = nil
}

// Follow publishes events until the run has ended. If the engine was killed and does
// not come back, the error is client.ErrGone.
func (d *Directory) Follow(ctx context.Context) error {
	defer d.bus.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.stopped = ctx.Done()
	if err := d.load(); err != nil {
		return err
	}
	d.publish()
	following := make(chan error, 1)
	go func() { following <- d.followEngines(ctx) }()
	for {
		select {
		case <-d.wake:
			if err := d.pump(); err != nil {
				cancel()
				<-following //nolint:errcheck // the other error came first
				return err
			}
		case err := <-following:
			if err == nil {
				err = d.openMissed()
			}
			if err != nil {
				return err
			}
			return d.pumpAll()
		}
	}
}

// Close closes all files.
func (d *Directory) Close() {
	for _, h := range d.histories {
		h.file.Close()
	}
	d.outputs.close()
}

// pump publishes new events and output: a limited piece of each output, so that
// none delays the others. It reads only those that may have grown: looking at all of
// thousands of outputs whenever one grows would take a third of a core.
func (d *Directory) pump() error {
	for _, key := range d.outputs.due() {
		more, err := d.read(key, maxPieces)
		if err != nil {
			return err
		}
		if more {
			d.grew(key)
		}
	}
	err := d.load()
	d.publish()
	return err
}

// pumpAll publishes the rest after the end of the run.
func (d *Directory) pumpAll() error {
	for {
		if err := d.pump(); err != nil {
			return err
		}
		select {
		case <-d.wake:
		default:
			return nil
		}
	}
}
