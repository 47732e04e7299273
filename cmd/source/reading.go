package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/tasklog"
)

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
		case d.outputs.get(key) != nil && d.atEnd: // its output is in the past
		case d.outputs.get(key) != nil:
			_, _ = d.read(key, 0) // pump reports the error
		case body.Type == api.TaskStarted:
			d.open(e.Alloc, key)
		}
	}
}

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
	d.outputs.add(key, o)
}

// read publishes new output, limited to a number of pieces (0: all), and
// reports whether there may be more.
func (d *Directory) read(key outputKey, pieces int) (more bool, err error) {
	o := d.outputs.get(key)
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
				d.openWanted(d.Server.Task(e.Alloc, e.Task), e.Alloc)
			}
		}
	}
	d.alert()
	return nil
}

// openWanted opens the wanted outputs of a task that are not open yet.
func (d *Directory) openWanted(t *client.Task, alloc *event.Alloc) {
	for _, stream := range event.Streams {
		key := outputKey{alloc.ID, t.Name, stream}
		if d.outputs.get(key) == nil && (d.Want == nil || d.Want(t, stream)) {
			d.open(alloc, key)
		}
	}
}

// grown handles new output of a task: content of files or, if the job does not keep
// output on disk, the output itself.
func (d *Directory) grown(g client.Grown) {
	key := outputKey{g.Alloc, g.Task, g.Stream}
	o := d.outputs.get(key)
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

// grew makes the next pump read an output.
func (d *Directory) grew(key outputKey) {
	d.outputs.grew(key)
	d.alert()
}
