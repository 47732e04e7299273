package screen

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
)

// Limits of the output in memory, in lines and bytes. All of it is in the files of
// the run, which "taskrun logs" shows.
const (
	maxLines = 10_000
	maxBytes = 4 << 20
	maxLine  = 16 << 10
)

// output holds the latest lines of tasks, in the order of their times.
type output struct {
	lines   []*outputLine
	dropped int // lines that were dropped from the beginning
	size    int
	open    map[outputKey]*outputLine // lines that have not ended
}

type outputKey struct {
	Target
	stream event.Stream
}

// outputLine is a line of a task's output.
type outputLine struct {
	outputKey
	time time.Time
	raw  []byte // of a line that has not ended
	text string
}

func (o *output) write(key outputKey, at time.Time, piece []byte) {
	for len(piece) > 0 {
		l := o.open[key]
		if l == nil {
			l = o.add(key, at)
		}
		end := bytes.IndexByte(piece, '\n')
		part := piece
		if end >= 0 {
			part = piece[:end]
		}
		room := maxLine - len(l.raw)
		cut := len(part) > room
		if cut {
			part, end = part[:room], -1
		}
		l.raw = append(l.raw, part...)
		o.size -= len(l.text)
		if l.text = string(l.raw); end >= 0 || cut {
			o.end(key)
		}
		l.text = clean(l.text)
		o.size += len(l.text)
		piece = piece[len(part):]
		if end >= 0 {
			piece = piece[1:]
		}
	}
	o.trim()
}

// add adds an empty line after all that are not later.
func (o *output) add(key outputKey, at time.Time) *outputLine {
	l := &outputLine{outputKey: key, time: at}
	i := len(o.lines)
	for i > 0 && o.lines[i-1].time.After(at) {
		i--
	}
	o.lines = slices.Insert(o.lines, i, l)
	if o.open == nil {
		o.open = map[outputKey]*outputLine{}
	}
	o.open[key] = l
	return l
}

// end ends the open line of an output, if there is one.
func (o *output) end(key outputKey) {
	if l := o.open[key]; l != nil {
		l.raw = nil
		delete(o.open, key)
	}
}

func (o *output) clear() { *o = output{dropped: o.dropped + len(o.lines)} }

// trim drops a quarter of the lines if there are too many.
func (o *output) trim() {
	for len(o.lines) > maxLines || o.size > maxBytes && len(o.lines) > 1 {
		n := (len(o.lines) + 3) / 4
		for _, l := range o.lines[:n] {
			o.size -= len(l.text)
			if o.open[l.outputKey] == l {
				delete(o.open, l.outputKey)
			}
		}
		o.lines, o.dropped = slices.Clone(o.lines[n:]), o.dropped+n
	}
}

// tab is the distance of tab stops.
const tab = 8

// clean returns a line of a task's output as text that cannot do anything to the
// terminal: without escape sequences, with visible control characters and blanks for
// tabs. Of a line that was overwritten with carriage returns, such as a progress bar,
// it is the last version.
func clean(line string) string {
	line = strings.TrimRight(line, "\r")
	if i := strings.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:]
	}
	if strings.ContainsRune(line, ansi.ESC) || strings.ContainsRune(line, '\u009b') {
		line = ansi.Strip(line)
	}
	if !strings.ContainsRune(line, '\t') {
		return visible.String(line)
	}
	var b strings.Builder
	width := 0
	for i, part := range strings.Split(line, "\t") {
		if i > 0 {
			n := tab - width%tab
			b.WriteString(strings.Repeat(" ", n))
			width += n
		}
		part = visible.String(part)
		b.WriteString(part)
		width += ansi.StringWidth(part)
	}
	return b.String()
}
