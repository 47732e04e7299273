package page

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"taskrun/cmd/prose"
	"taskrun/cmd/report/trace"
	"taskrun/jobspec/visible"
)

// The data of a page, as web/data.js reads it. Times are microseconds since the
// run began. Lists are flat, with a fixed number of values for each entry, and
// have the index of a text in its place: long runs repeat few of them often.
type data struct {
	Title          string  `json:"title"`
	Status         string  `json:"status"`
	Live           bool    `json:"live,omitempty"`
	Begin          int64   `json:"begin"` // since the epoch
	Length         int64   `json:"length"`
	LeftOut        string  `json:"left_out,omitempty"`
	Rows           []row   `json:"rows"`
	Marks          []int64 `json:"marks,omitempty"`    // time, kind, title, detail, weight
	Critical       []int64 `json:"critical,omitempty"` // row or -1, kind, from, to, count
	CriticalLength int64   `json:"critical_length,omitempty"`

	Kinds []string `json:"kinds"` // of spans
	Texts []string `json:"texts"`
}

type row struct {
	Name     string  `json:"name"`
	Stage    string  `json:"stage,omitempty"`
	Attempt  int     `json:"attempt,omitempty"`
	Merged   int     `json:"merged,omitempty"`
	State    string  `json:"state"` // pending, running, complete or failed
	Exit     *int    `json:"exit,omitempty"`
	Restarts uint64  `json:"restarts,omitempty"`
	Spans    []int64 `json:"spans,omitempty"` // kind, from, to, open, for, count
	Marks    []int64 `json:"marks,omitempty"`
	Lines    []int64 `json:"lines,omitempty"` // time, stream, text
	LeftOut  string  `json:"left_out,omitempty"`
}

// writeData writes the data of a page as JSON, in which <, > and & are escaped.
func writeData(w io.Writer, t *trace.Trace, output []Output) error {
	c := coder{begin: t.Begin, index: map[string]int64{}}
	d := data{
		Title: visible.String(title(t)), Status: visible.String(t.Status), Live: t.Live,
		Begin: t.Begin.UnixMicro(), Length: c.time(t.End), LeftOut: leftOut(t),
		Rows: make([]row, len(t.Rows)), Marks: c.marks(t.Marks), CriticalLength: t.Length.Microseconds(),
	}
	for _, k := range trace.Kinds {
		d.Kinds = append(d.Kinds, k.String())
	}
	for _, s := range t.Critical {
		d.Critical = append(d.Critical, int64(slices.Index(t.Rows, s.Row)), int64(s.Kind), c.time(s.From), c.time(s.To), int64(s.Count))
	}
	type key struct{ alloc, task string }
	said := map[key]Output{}
	for _, o := range output {
		said[key{o.AllocID, o.Task}] = o
	}
	for i, r := range t.Rows {
		o := said[key{r.Alloc.ID, r.Task}]
		d.Rows[i] = row{
			Name: visible.String(r.Name), Stage: string(r.Stage), Attempt: r.Attempt, Merged: r.Merged, State: visible.String(state(r)), Exit: r.ExitCode, Restarts: r.Restarts,
			Spans: c.spans(r.Spans), Marks: c.marks(r.Marks), Lines: c.lines(o.Lines), LeftOut: visible.String(o.LeftOut),
		}
	}
	d.Texts = c.texts
	return json.NewEncoder(w).Encode(d)
}

// state returns how a task stands, in the words of allocations.
func state(r *trace.Row) string {
	switch {
	case r.Failed:
		return "failed"
	case r.State == "dead":
		return "complete"
	}
	return r.State
}

// coder makes lists of numbers.
type coder struct {
	begin time.Time
	texts []string
	index map[string]int64 // of each text
}

func (c *coder) time(t time.Time) int64 { return t.Sub(c.begin).Microseconds() }

func (c *coder) text(s string) int64 {
	i, known := c.index[s]
	if !known {
		i = int64(len(c.texts))
		c.index[s] = i
		c.texts = append(c.texts, visible.Text(s))
	}
	return i
}

func (c *coder) spans(spans []trace.Span) []int64 {
	list := make([]int64, 0, 6*len(spans))
	for _, s := range spans {
		open := int64(0)
		if s.Open {
			open = 1
		}
		list = append(list, int64(s.Kind), c.time(s.From), c.time(s.To), open, c.text(s.For), int64(s.Count))
	}
	return list
}

func (c *coder) marks(marks []trace.Mark) []int64 {
	list := make([]int64, 0, 5*len(marks))
	for _, m := range marks {
		list = append(list, c.time(m.Time), c.text(string(m.Kind)), c.text(m.Title), c.text(m.Detail), int64(m.Weight))
	}
	return list
}

func (c *coder) lines(lines []Line) []int64 {
	list := make([]int64, 0, 3*len(lines))
	for _, l := range lines {
		stream := int64(0)
		if l.Stderr {
			stream = 1
		}
		list = append(list, c.time(l.Time), stream, c.text(l.Text))
	}
	return list
}

// leftOut says what a trace does not have, or returns "".
func leftOut(t *trace.Trace) string {
	if t.Omitted == 0 {
		return ""
	}
	return prose.Count(t.Omitted, "event") + " of this long run were left out, or counted with others."
}

// Output is the output of a task, or the end of it.
type Output struct {
	AllocID, Task string
	Lines         []Line // in the order of time
	LeftOut       string // says what is missing; empty if nothing is
}

// Line is a line of output.
type Line struct {
	Time   time.Time
	Stderr bool
	Text   string // without its end
}

func title(t *trace.Trace) string { return strings.Join(t.Jobs, ", ") }
