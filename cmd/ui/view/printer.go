package view

import (
	"bytes"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

// The marks between a task's label and its output.
const (
	markStdout   = "│"
	markStderr   = "┆"
	markContinue = "…" // the rest of a line that something else had to interrupt
)

// maxHeld is how long a line may be to be printed in one piece whatever else
// is printed meanwhile, in bytes.
const maxHeld = 64 << 10

// printer writes the tasks' output to stdout, line by line, each behind its
// task's label. Into a file or a pipe the bytes go untouched; on a terminal
// they cannot do more than show.
type printer struct {
	*common
	labels *labels
	style  *ui.Style
	colors map[string]int // by task name
	clock  *clock         // nil: no times
	bare   bool           // no labels either

	terminal bool // stdout is a terminal
	cursor   bool // and one that can rewrite a line

	tasks map[streamKey]*printed
	held  []*printed // those that may hold back the beginning of a line
	open  *printed   // whose line on the screen has no end yet
	buf   []byte
}

type streamKey struct {
	alloc, task string
	stream      event.Stream
}

// printed is one stream of one task.
type printed struct {
	lines
	task         labelKey
	mark         string
	label, again []byte // what stands before a line, and before the rest of one
	time         []byte // of the latest piece
	queued       bool   // in printer.held
	begun        bool   // the next text continues a line
	returned     bool   // the task went back to the beginning of its line
	inForce      []byte // the colors that the task has set and not reset
}

func newPrinter(c *common, clock *clock) *printer {
	width := 0
	if c.streams.OutTerm || c.streams.ErrTerm {
		width = c.streams.Width()
	}
	return &printer{
		common:   c,
		labels:   newLabels(c.Jobs, width),
		style:    c.streams.OutStyle(c.Color),
		colors:   taskColors(c.Jobs),
		clock:    clock,
		terminal: c.streams.OutTerm,
		cursor:   c.streams.OutTerm && c.streams.Cursor(),
		tasks:    make(map[streamKey]*printed),
	}
}

func (p *printer) stream(e event.Event, stream event.Stream) *printed {
	key := streamKey{e.Alloc.ID, e.Task, stream}
	s := p.tasks[key]
	if s == nil {
		mark := markStdout
		if stream == event.Stderr {
			mark = markStderr
		}
		s = &printed{lines: lines{limit: maxHeld}, task: labelKey{e.Alloc.Name, e.Task}, mark: mark}
		p.tasks[key] = s
		p.name(s)
	}
	return s
}

// name gives a stream its label.
func (p *printer) name(s *printed) {
	if !p.bare {
		label := p.label(p.style, s.task.alloc, s.task.task) + " "
		s.label = []byte(label + p.style.Quiet(s.mark) + " ")
		s.again = []byte(label + p.style.Quiet(markContinue) + " ")
	}
}

// label returns a task's label in its color, as wide as the column.
func (p *printer) label(style *ui.Style, alloc, task string) string {
	return style.Task(p.colors[task], p.labels.padded(p.labels.of(alloc, task)))
}

// output prints the lines in a piece of output. A line that has no end yet is
// held back until more of it comes or the screen falls idle.
func (p *printer) output(e event.Event, stream event.Stream, piece []byte) {
	s := p.stream(e, stream)
	s.time = s.time[:0]
	if p.clock != nil {
		s.time = append(s.time, p.style.Quiet(p.clock.text(e.Time))...)
		s.time = append(s.time, ' ')
	}
	s.cut(piece, func(text []byte, whole bool) { p.print(s, text, whole) })
	if len(s.lines.held) > 0 && !s.queued {
		s.queued = true
		p.held = append(p.held, s)
	}
}

// release prints what is held back of a line.
func (p *printer) release(s *printed) {
	s.release(func(text []byte, whole bool) { p.print(s, text, whole) })
}

// print prints text of one line; it is whole when the line ends with it.
func (p *printer) print(s *printed, text []byte, whole bool) {
	switch {
	case s.begun && s != p.open && whole && len(text) == 0:
		// The line was interrupted, which ended it already.
		s.begun, s.returned = false, false
	case p.terminal:
		p.show(s, text, whole)
	default:
		p.pass(s, text, whole)
	}
}

// pass prints text as it is.
func (p *printer) pass(s *printed, text []byte, whole bool) {
	out := p.screen.out()
	if s != p.open {
		p.startLine(s)
	}
	out.Write(text)
	if p.style.On && bytes.IndexByte(text, esc) >= 0 {
		out.WriteString(resetColors)
	}
	p.finish(s, whole)
}

// show prints text on a terminal. A task that goes back to the beginning of
// its line, as progress bars do, rewrites it for as long as it is open.
func (p *printer) show(s *printed, text []byte, whole bool) {
	state := lastState(text)
	rewrite := s.begun && (s.returned || bytes.IndexByte(bytes.TrimRight(text, "\r"), '\r') >= 0)
	switch {
	case rewrite && len(state) == 0 && s == p.open:
		// Nothing new: what the line shows stays.
	case s != p.open:
		s.begun = s.begun && !rewrite
		p.startLine(s)
	case rewrite:
		s.begun = false
		if p.cursor {
			p.screen.out().WriteString(eraseLine)
			p.open = nil
		}
		p.startLine(s)
	}
	p.buf = append(p.buf[:0], s.inForce...)
	p.buf, s.inForce = appendSafe(p.buf, state, s.inForce, p.style.On)
	if bytes.IndexByte(p.buf, esc) >= 0 {
		p.buf = append(p.buf, resetColors...)
	}
	p.screen.out().Write(p.buf)
	s.returned = !whole && bytes.HasSuffix(text, []byte{'\r'})
	p.finish(s, whole)
}

// startLine ends the line that is open and writes what stands before the text.
func (p *printer) startLine(s *printed) {
	p.breakLine()
	out := p.screen.out()
	out.Write(s.time)
	if s.begun {
		out.Write(s.again)
	} else {
		out.Write(s.label)
	}
}

// finish ends the line, or notes that s has left it open.
func (p *printer) finish(s *printed, whole bool) {
	s.begun = !whole
	p.open = s
	if whole {
		p.breakLine()
	}
}

// breakLine ends the line that is open, so that another can begin.
func (p *printer) breakLine() {
	if p.open != nil {
		p.screen.out().WriteByte('\n')
		p.open = nil
	}
}

// idle shows on a terminal the lines that have no end yet.
func (p *printer) idle() {
	if p.terminal {
		p.releaseAll()
	}
}

func (p *printer) releaseAll() {
	for _, s := range p.held {
		s.queued = false
		p.release(s)
	}
	p.held = p.held[:0]
}

// event ends the lines of a task whose process has ended, and renames the tasks
// of a group that grows.
func (p *printer) event(e event.Event) {
	if e.Alloc != nil && p.labels.learn(e.Alloc) {
		for _, s := range p.tasks {
			p.name(s)
		}
	}
	if ends(e) {
		p.ended(e.Alloc.ID, e.Task)
	}
}

// ends reports whether an event says that a task's process has ended.
func ends(e event.Event) bool {
	switch body := e.Body.(type) {
	case event.TaskEvent:
		return body.Type == api.TaskTerminated
	case event.TaskState:
		return body.State == "dead"
	}
	return false
}

func (p *printer) ended(alloc, task string) {
	for _, stream := range event.Streams {
		s := p.tasks[streamKey{alloc, task, stream}]
		if s == nil {
			continue
		}
		p.release(s)
		if s == p.open {
			p.breakLine()
		}
		s.begun, s.returned, s.inForce = false, false, nil
	}
}

// close ends all lines.
func (p *printer) close() {
	p.releaseAll()
	p.breakLine()
}
