package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/tasklog"
)

const (
	// maxPieces is the maximum number of pieces of output that wait to be shown.
	maxPieces = 64
	// pieceSize is the size of a read, in bytes.
	pieceSize = 64 << 10
	// askTime is the pause before an engine that does not announce outputs is asked
	// again to do so.
	askTime = time.Second
)

type outputKey struct {
	alloc, task string
	stream      event.Stream
}

func (k outputKey) compare(o outputKey) int {
	if c := strings.Compare(k.alloc+k.task, o.alloc+o.task); c != 0 {
		return c
	}
	return int(k.stream) - int(o.stream)
}

// output is one output of a task.
type output struct {
	alloc  *event.Alloc
	files  *tasklog.Reader // nil: there are none
	gap    int64           // number of skipped bytes that were reported
	begun  bool            // some was read, if there was any
	failed error
}

func (o *output) close() {
	if o.files != nil {
		_ = o.files.Close() // they were only read
	}
}

// prepare opens the output of a task that starts, or publishes its earlier
// output before an event of the task.
func (d *Directory) prepare(e event.Event) {
	body, ok := e.Body.(event.TaskEvent)
	if !ok || d.Detail != All {
		return
	}
	for _, stream := range event.Streams {
		key := outputKey{e.Alloc.ID, e.Task, stream}
		switch {
		case d.outputs[key] != nil && d.atEnd: // its output is in the past
		case d.outputs[key] != nil:
			_, _ = d.read(key, 0) // pump reports the error
		case body.Type == api.TaskStarted:
			d.open(e.Alloc, key)
		}
	}
}

// part returns all of an output.
func (d *Directory) part(key outputKey, job string) tasklog.Part {
	dir := d.allocDir(job, key.alloc)
	return tasklog.Part{
		Logs: allocdir.SharedOf(dir).Logs, Times: allocdir.TimesOf(dir),
		Task: key.task, Stream: key.stream, Tail: -1,
	}
}

// Open opens an output of a task. It is nil if there are no files of it.
func (d *Directory) Open(t *client.Task, l client.Log) (*tasklog.Reader, error) {
	part := d.part(outputKey{t.Alloc.ID, t.Name, l.Stream}, t.JobKey())
	part.Tail, part.Since = l.Tail, l.Since
	r, err := part.Open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if file, _ := r.Position(); file == "" {
		return nil, r.Close()
	}
	return r, nil
}

// open opens an output. There are no files of an allocation that was removed, and of
// a task whose output is not kept on disk.
func (d *Directory) open(alloc *event.Alloc, key outputKey) {
	o, part := &output{alloc: alloc}, d.part(key, alloc.Job)
	switch {
	case d.atEnd:
		part.Tail = 0
	case d.Detail == Outputs:
		part.Tail, part.Since = d.Tail, d.Since
	}
	o.files, o.failed = part.Open()
	if errors.Is(o.failed, fs.ErrNotExist) {
		o.failed = nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.outputs[key], d.unread[key] = o, true
}

func (d *Directory) output(key outputKey) *output {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.outputs[key]
}

// read publishes new output, limited to a number of pieces (0: all), and
// reports whether there may be more.
func (d *Directory) read(key outputKey, pieces int) (more bool, err error) {
	o := d.output(key)
	if o.files == nil || o.failed != nil {
		return false, o.failed
	}
	if d.Newest > 0 && o.begun {
		o.files.SkipTo(d.Newest)
	}
	o.begun = true
	for i := 1; ; i++ {
		n, err := o.files.Read(d.buf)
		if skipped := o.files.Skipped(); skipped > o.gap {
			d.bus.Publish(o.alloc, key.task, event.Gap{Stream: key.stream, Bytes: skipped - o.gap})
			o.gap = skipped
		}
		if n > 0 {
			d.pieces.Publish(&d.bus, o.files.Time(), o.alloc, key.task, key.stream, bytes.Clone(d.buf[:n]), d.stopped)
		}
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			o.failed = fmt.Errorf("cannot read %s of task %q: %w", key.stream, key.task, err)
			return false, o.failed
		case i == pieces:
			return true, nil
		}
	}
}

// followOutputs reads outputs whenever the engine says that they have grown, until ctx
// ends. Without an answer it asks again after a while; until then it reads all of them.
func (d *Directory) followOutputs(ctx context.Context) {
	for ctx.Err() == nil {
		d.Server.FollowOutputs(ctx, d.Alloc, func() { d.tells(true) }, d.grown)
		d.tells(false)
		select {
		case <-time.After(askTime):
		case <-ctx.Done():
		}
	}
}

// openStarted opens the wanted outputs of tasks that have started.
func (d *Directory) openStarted(tasks []*client.Task) {
	for _, t := range tasks {
		for _, stream := range event.Streams {
			key := outputKey{t.Alloc.ID, t.Name, stream}
			if t.Started() && d.output(key) == nil && (d.Want == nil || d.Want(t, stream)) {
				d.open(t.EventAlloc(), key)
			}
		}
	}
}

// openMissed opens the outputs of tasks that no engine has listed: those that
// started and ended while there was none, or before the first one answered.
func (d *Directory) openMissed() error {
	if d.Detail != Outputs {
		return nil
	}
	for _, job := range d.IDs {
		events, err := History(d.Self.Runs[job])
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range events {
			if body, ok := e.Body.(event.TaskEvent); ok && body.Type == api.TaskStarted {
				d.openWanted(e.Alloc, e.Task)
			}
		}
	}
	d.alert()
	return nil
}

// openWanted opens the wanted outputs of a task that are not open yet.
func (d *Directory) openWanted(alloc *event.Alloc, task string) {
	t := d.Server.Task(alloc, task)
	for _, stream := range event.Streams {
		key := outputKey{alloc.ID, task, stream}
		if d.output(key) == nil && (d.Want == nil || d.Want(t, stream)) {
			d.open(alloc, key)
		}
	}
}

// hold protects the current files from rotation, and makes the next pump read all
// outputs.
func (d *Directory) hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, o := range d.outputs {
		d.unread[key] = true
		if o.files != nil {
			o.files.Hold()
		}
	}
}

// grown handles new output of a task: content of files or, if the job does not keep
// output on disk, the output itself.
func (d *Directory) grown(g client.Grown) {
	key := outputKey{g.Alloc, g.Task, g.Stream}
	o := d.output(key)
	switch {
	case o == nil && d.Detail == All:
		d.alert() // to open it once its task has started
		return
	case o == nil:
		return // it is not wanted, or read as soon as it is opened
	}
	if g.Missing != "" {
		d.bus.Publish(o.alloc, key.task, event.Notice{Text: fmt.Sprintf("%s of task %q: %s", key.stream, key.task, g.Missing)})
	}
	if len(g.Data) > 0 {
		d.pieces.Publish(&d.bus, time.Now(), o.alloc, key.task, key.stream, g.Data, d.stopped)
	}
	if g.NewFile && o.files != nil {
		o.files.Hold() // protects announced output from rotation
	}
	d.grew(key)
}
