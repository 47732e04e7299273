package view

import (
	"sync"
	"time"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

// Label names a task of an allocation.
type Label struct {
	Alloc string // <job>.<group>[<index>]
	Task  string
	Label string
}

// partTime is how long a terminal waits for the end of a line before it shows
// the beginning.
const partTime = 100 * time.Millisecond

// Logs shows outputs of tasks as a run does, with times on request. Into a file or a pipe, that of a single task goes byte by
// byte. Its methods may be called from several goroutines at once.
type Logs struct {
	mu    sync.Mutex
	view  outputs
	bytes bool // copy pieces unchanged
	*screen
	part *time.Timer // shows unfinished lines
}

// outputs shows outputs of tasks as lines or objects.
type outputs interface {
	output(e event.Event, stream event.Stream, piece []byte)
	idle() (again time.Time)
	ended(alloc, task string)
	close()
}

// NewLogs returns what shows the outputs of tasks, each line behind its time or, with
// ui.TimeNone, without, and behind its prefix.
func NewLogs(s *ui.Streams, mode ui.Mode, color ui.ColorMode, format ui.TimeFormat, prefix ui.Prefix, tasks []Label) *Logs {
	byTask, colors := make(map[labelKey]string), make(colors)
	for _, t := range tasks {
		byTask[labelKey{t.Alloc, t.Task}] = t.Label
		colors.give(t.Task)
	}
	labels := &labels{byTask: byTask, byID: prefix == ui.PrefixAlloc, columns: s.TableWidth()}
	single, timed := len(byTask) == 1, format != ui.TimeNone
	p := newPrinter(newCommon(s, Options{Color: color, Prefix: prefix}), nil)
	p.labels, p.colors = labels.fit(), colors
	p.bare = p.bare || prefix == ui.PrefixAuto && (single || mode == ui.Quiet)
	if timed {
		p.clock = &clock{format: format}
	}
	l := &Logs{view: p, screen: p.screen, bytes: single && p.bare && !s.OutTerm && mode != ui.JSON && !timed}
	if mode == ui.JSON {
		l.view = newJSONView(p.common)
	}
	l.part = time.AfterFunc(partTime, l.showParts)
	return l
}

// Write shows a piece of output that was read at a time. The error is that of stdout.
func (l *Logs) Write(at time.Time, alloc *event.Alloc, task string, stream event.Stream, piece []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bytes {
		l.out().Write(piece)
	} else {
		l.view.output(event.Event{Time: at, Alloc: alloc, Task: task}, stream, piece)
		l.part.Reset(partTime)
	}
	return l.flush()
}

// Ended ends the lines of a stream that has ended.
func (l *Logs) Ended(alloc *event.Alloc, task string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.ended(alloc.ID, task)
	return l.flush()
}

func (l *Logs) showParts() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.view.idle() // nothing but output is shown
	_ = l.flush()     // the next Write returns the error
}

// Close ends all lines.
func (l *Logs) Close() error {
	l.part.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.close()
	return l.flush()
}
