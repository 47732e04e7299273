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
	// maxStreams limits the outputs that are followed at the same time, each
	// with its own connection; servers accept a hundred connections of a
	// client. The others are read every roundTime, at most maxReaders at a
	// time.
	maxStreams = 60
	maxReaders = 8
	roundTime  = 2 * time.Second
	// restTime is the time limit for reading the rest of a dead task's output.
	restTime = 15 * time.Second
	// fewFailures is how many failures in a row are not reported.
	fewFailures = 3
)

// outputs follows the outputs of running tasks.
type outputs struct {
	show    func(o *output, piece []byte)
	say     func(text string)
	ctx     context.Context
	streams chan struct{} // semaphores
	readers chan struct{}
	running sync.WaitGroup
	all     map[outputKey]*output // used by one goroutine
}

type outputKey struct {
	alloc, task string
	stream      event.Stream
}

// output is one output of a task. The goroutine that follows it owns its position.
type output struct {
	task   *client.Task
	alloc  *event.Alloc
	stream event.Stream
	at     client.Position

	cancel    context.CancelFunc // nil: not followed
	left      chan struct{}      // closed when the output is no longer followed
	failures  int                // in a row
	complaint string             // the last one
}

func newOutputs(ctx context.Context) *outputs {
	return &outputs{
		ctx: ctx, all: map[outputKey]*output{},
		streams: make(chan struct{}, maxStreams), readers: make(chan struct{}, maxReaders),
	}
}

// begin follows outputs of a task that has started: from where they were left,
// or from a position if they are new.
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

// rest reads the rest of a task's outputs and stops following them.
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

func (o *outputs) close() {
	for _, out := range o.all {
		if out.cancel != nil {
			out.cancel()
		}
	}
	o.running.Wait()
}

// follow reads an output until ctx ends.
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

// read shows new output, and reports whether to read again.
func (o *outputs) read(ctx context.Context, out *output, follow bool) bool {
	at, err := client.LogFiles{Task: out.task, Stream: out.stream}.Read(ctx, out.at, follow, func(piece []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		o.show(out, piece) // a shown piece counts as read
		return nil
	})
	if at.Lost && !out.at.Lost {
		o.say(fmt.Sprintf("%s of task %q of %s is incomplete: some output was removed before it could be read", out.stream, out.task.Name, out.alloc.Name))
	}
	out.at = at
	var refused *client.RefusedError
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, client.ErrBrokeOff):
		out.failures = 0 // nothing is lost: reading continues at the same position
		return true
	case errors.As(err, &refused) && refused.Code == http.StatusNotFound:
		return true // there is no output yet
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
