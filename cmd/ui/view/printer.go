package view

import (
	"bytes"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

// Marks between a task's label and its output.
const (
	markStdout   = "│"
	markStderr   = "┆"
	markContinue = "…" // the rest of an interrupted line
)

// maxHeld limits the length of lines that are never interrupted by other
// output, in bytes.
const maxHeld = 64 << 10

// printer writes the tasks' output to stdout, line by line, each one preceded
// by its task's label. It writes the bytes unchanged to a file or a pipe, and
// makes them safe for a terminal.
type printer struct {
	*common
	labels *labels
	style  *ui.Style
	colors map[string]int // by task name
	clock  *clock         // nil: no times
	bare   bool           // no labels

	terminal bool // stdout is a terminal
	cursor   bool // the terminal can rewrite a line

	tasks map[streamKey]*printed
	held  []*printed // may hold back the beginning of a line
	open  *printed   // its line on the screen is unfinished
	buf   []byte
}

type streamKey struct {
	alloc, task string
	stream      event.Stream
}

// printed is one output stream of a task.
type printed struct {
	lines
	alloc        *event.Alloc
	task         string
	mark         string
	label, again []byte // prefix of a line, and of the rest of an interrupted one
	time         []byte // of the latest piece
	queued       bool   // contained in printer.held
	begun        bool   // the next text continues a line
	returned     bool   // the task has returned to the beginning of its line
	inForce      []byte // color sequences in force
}

func newPrinter(c *common, clock *clock) *printer {
	width := 0
	if c.streams.OutTerm || c.streams.ErrTerm {
		width = c.streams.Width()
	}
	return &printer{
		common:   c,
		labels:   newLabels(c.Options, width),
		style:    c.streams.OutStyle(c.Color),
		colors:   taskColors(c.Jobs),
		clock:    clock,
		bare:     c.Prefix == ui.PrefixNone,
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
		s = &printed{lines: lines{limit: maxHeld}, alloc: e.Alloc, task: e.Task, mark: mark}
		p.tasks[key] = s
		p.name(s)
	}
	return s
}

func (p *printer) name(s *printed) {
	if !p.bare {
		label := p.label(p.style, s.alloc, s.task) + " "
		s.label = []byte(label + p.style.Quiet(s.mark) + " ")
		s.again = []byte(label + p.style.Quiet(markContinue) + " ")
	}
}

// label returns a task's label in its color, padded to the width of the column.
func (p *printer) label(style *ui.Style, alloc *event.Alloc, task string) string {
	return style.Task(p.colors[task], p.labels.padded(p.labels.before(alloc, task)))
}

// output prints the lines in a piece of output. It holds an unfinished line
// back until more output arrives or the screen becomes idle.
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

// release prints the part of a line that was held back.
func (p *printer) release(s *printed) {
	s.release(func(text []byte, whole bool) { p.print(s, text, whole) })
}

// print prints text of one line; whole is true if the line ends with it.
func (p *printer) print(s *printed, text []byte, whole bool) {
	switch {
	case s.begun && s != p.open && whole && len(text) == 0:
		// The interruption has ended the line already.
		s.begun, s.returned = false, false
	case p.terminal:
		p.show(s, text, whole)
	default:
		p.pass(s, text, whole)
	}
}

// pass prints text unchanged.
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

// show prints text on a terminal. A task that returns to the beginning of its
// line, like a progress bar, rewrites the line as long as it is the last one.
func (p *printer) show(s *printed, text []byte, whole bool) {
	state := lastState(text)
	rewrite := s.begun && (s.returned || bytes.IndexByte(bytes.TrimRight(text, "\r"), '\r') >= 0)
	switch {
	case rewrite && len(state) == 0 && s == p.open:
		// Nothing new: keep the visible line.
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

// finish ends the line, or records that it is unfinished.
func (p *printer) finish(s *printed, whole bool) {
	s.begun = !whole
	p.open = s
	if whole {
		p.breakLine()
	}
}

// breakLine ends the unfinished line, so that another one can start.
func (p *printer) breakLine() {
	if p.open != nil {
		p.screen.out().WriteByte('\n')
		p.open = nil
	}
}

// idle shows unfinished lines on a terminal.
func (p *printer) idle() (again time.Time) {
	if p.terminal {
		p.releaseAll()
	}
	return time.Time{}
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

func (p *printer) close() {
	p.releaseAll()
	p.breakLine()
}
