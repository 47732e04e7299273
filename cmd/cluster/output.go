package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
)

const (
	// maxStreams is how many outputs are followed at once, each by a connection
	// of its own; servers take a hundred of a client. Others are read every
	// roundTime, so many at a time.
	maxStreams = 60
	maxReaders = 8
	roundTime  = 2 * time.Second
	// restTime bounds the reading of what a task has written until its end.
	restTime = 15 * time.Second
	// fewFailures in a row are not worth a word.
	fewFailures = 3
)

// outputs are those of the tasks that run.
type outputs struct {
	show    func(o *output, piece []byte)
	say     func(text string)
	ctx     context.Context
	streams chan struct{} // places
	readers chan struct{}
	running sync.WaitGroup
	all     map[outputKey]*output // of one goroutine
}

type outputKey struct {
	alloc, task string
	stream      event.Stream
}

// output is one output of a task. Its position belongs to the goroutine that
// follows it, as long as there is one.
type output struct {
	task   *client.Task
	alloc  *event.Alloc
	stream event.Stream
	at     client.Position

	cancel    context.CancelFunc // nil: nobody follows it
	left      chan struct{}      // closed when nobody does any more
	failures  int                // one after another
	complaint string             // that was made
}

func newOutputs(ctx context.Context) *outputs {
	return &outputs{
		ctx: ctx, all: map[outputKey]*output{},
		streams: make(chan struct{}, maxStreams), readers: make(chan struct{}, maxReaders),
	}
}

// begin follows outputs of a task that has started, from where they were left
// or, where nothing is known of them, from a position.
func (o *outputs) begin(t *client.Task, alloc *event.Alloc, from client.Position, streams ...event.Stream) {
	for _, stream := range streams {
		key := outputKey{alloc.ID, t.Name, stream}
		out := o.all[key]
		if out == nil {
			out = &output{task: t, alloc: alloc, stream: stream, at: from}
			o.all[key] = out
		}
		if out.cancel != nil {
			continue
		}
		ctx, cancel := context.WithCancel(o.ctx)
		out.cancel, out.left = cancel, make(chan struct{})
		o.running.Go(func() {
			defer close(out.left)
			o.follow(ctx, out)
		})
	}
}

// rest reads what a task has written until now, and leaves its outputs.
func (o *outputs) rest(alloc, task string) {
	ctx, cancel := context.WithTimeout(o.ctx, restTime)
	defer cancel()
	var reading sync.WaitGroup
	for _, stream := range event.Streams {
		out := o.all[outputKey{alloc, task, stream}]
		if out == nil || out.cancel == nil {
			continue
		}
		out.cancel()
		<-out.left
		out.cancel = nil
		reading.Go(func() { o.read(ctx, out, false) })
	}
	reading.Wait()
}

// close leaves all outputs.
func (o *outputs) close() {
	for _, out := range o.all {
		if out.cancel != nil {
			out.cancel()
		}
	}
	o.running.Wait()
}

// follow reads an output as it comes, until ctx ends.
func (o *outputs) follow(ctx context.Context, out *output) {
	for pause := firstPause; ; {
		if out.failures == 0 {
			pause = firstPause
		}
		var more bool
		select {
		case o.streams <- struct{}{}:
			more = o.read(ctx, out, true)
			<-o.streams
		default:
			select {
			case o.readers <- struct{}{}:
				more = o.read(ctx, out, false)
				<-o.readers
			case <-ctx.Done():
				return
			}
			pause = max(pause, roundTime)
		}
		if !more || sleep(ctx, pause) != nil {
			return
		}
		pause = min(2*pause, maxPause)
	}
}

// read shows what an output has more. It reports whether there is any use in
// reading on.
func (o *outputs) read(ctx context.Context, out *output, follow bool) bool {
	at, err := out.task.Read(ctx, out.stream.String(), out.at, follow, func(piece []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		o.show(out, piece) // a piece that was shown counts as read
		return nil
	})
	if at.Lost && !out.at.Lost {
		o.say(fmt.Sprintf("%s of task %q of %s is not complete: some was removed before it could be read", out.stream, out.task.Name, out.alloc.Name))
	}
	out.at = at
	var refused *client.RefusedError
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, client.ErrBrokeOff):
		out.failures = 0 // nothing is lost: it goes on where it was
		return true
	case errors.As(err, &refused) && refused.Code == http.StatusNotFound:
		return true // it has none yet
	}
	if out.failures++; refused == nil && out.failures < fewFailures {
		return true
	}
	if text := fmt.Sprintf("cannot read %s of task %q of %s: %v", out.stream, out.task.Name, out.alloc.Name, err); text != out.complaint {
		out.complaint = text
		o.say(text)
	}
	return refused == nil || refused.Code != http.StatusForbidden
}
