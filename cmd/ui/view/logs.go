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

// partTime is how long the beginning of a line waits for its end before a
// terminal shows it.
const partTime = 100 * time.Millisecond

// Logs shows outputs of tasks as a run does, without times: these are not
// known any more. Into a file or a pipe, that of a single task goes byte by
// byte. Its methods may be called from several goroutines at once.
type Logs struct {
	mu      sync.Mutex
	printer *printer
	json    *jsonView   // in place of lines; nil for those
	part    *time.Timer // shows lines that have no end yet
}

// NewLogs returns what shows the outputs of tasks.
func NewLogs(s *ui.Streams, mode ui.Mode, color ui.ColorMode, tasks []Label) *Logs {
	byTask, colors := make(map[labelKey]string), make(colors)
	for _, t := range tasks {
		byTask[labelKey{t.Alloc, t.Task}] = t.Label
		colors.give(t.Task)
	}
	l := &Logs{printer: &printer{
		common: newCommon(s, Options{}), labels: (&labels{byTask: byTask, columns: s.TableWidth()}).fit(), style: s.OutStyle(color), colors: colors,
		bare: len(byTask) == 1 || mode == ui.Quiet, whole: len(byTask) == 1, terminal: s.OutTerm, cursor: s.OutTerm && s.Cursor(),
		tasks: make(map[streamKey]*printed),
	}}
	if mode == ui.JSON {
		l.json = newJSONView(l.printer.common)
	}
	l.part = time.AfterFunc(partTime, l.showParts)
	return l
}

// Write shows a piece of output. The error is that of stdout.
func (l *Logs) Write(alloc *event.Alloc, task string, stream event.Stream, piece []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.json != nil:
		l.json.output(event.Event{Time: time.Now(), Alloc: alloc, Task: task}, stream, piece)
	case l.printer.whole && !l.printer.terminal:
		l.printer.screen.out().Write(piece)
	default:
		l.printer.output(event.Event{Alloc: alloc, Task: task}, stream, piece)
		l.part.Reset(partTime)
	}
	return l.printer.screen.flush()
}

// Ended ends the lines of a stream that has ended.
func (l *Logs) Ended(alloc *event.Alloc, task string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.printer.ended(alloc.ID, task)
	if l.json != nil {
		l.json.endTask(event.Event{Alloc: alloc, Task: task})
	}
	return l.printer.screen.flush()
}

func (l *Logs) showParts() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.printer.idle()
	_ = l.printer.screen.flush() // the error stays for the next Write
}

// Close ends all lines.
func (l *Logs) Close() error {
	l.part.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.printer.close()
	if l.json != nil {
		l.json.endAll()
	}
	return l.printer.screen.flush()
}
