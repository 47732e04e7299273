package trace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"taskrun/jobspec/visible"
)

// perfettoEvent is an event of the Chrome trace format; see
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
type perfettoEvent struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"` // X: complete, i: instant, M: metadata
	TS    *float64       `json:"ts,omitempty"`
	Dur   *float64       `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Cat   string         `json:"cat,omitempty"`
	Scope string         `json:"s,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// perfetto writes events of the Chrome trace format.
type perfetto struct {
	to        *bufio.Writer // which keeps the first error
	begin     time.Time
	separator string // before the next event
	err       error  // of encoding
}

// Perfetto writes a trace as Chrome trace events, which https://ui.perfetto.dev opens: a
// process for each allocation, and a thread for each of its tasks. The first process
// is the run.
func Perfetto(w io.Writer, t *Trace) error {
	p := &perfetto{to: bufio.NewWriter(w), begin: t.Begin}
	fmt.Fprint(p.to, `{"displayTimeUnit":"ms","traceEvents":[`)
	const run = 1
	p.name("process", run, 0, "run", 0)
	for _, m := range t.Marks {
		p.mark(m, run, 0)
	}
	if len(t.Critical) > 0 {
		p.name("thread", run, 1, "critical path", 0)
	}
	for _, s := range t.Critical {
		name := "run"
		if s.Row != nil {
			name = s.Row.Name
		}
		p.span(name+" "+s.Kind.String(), "critical", s.From, s.To, run, 1, map[string]any{"share": s.Share, "attempts": s.Count})
	}
	pids := map[string]int{}
	for i, r := range t.Rows {
		pid, tid := pids[r.Alloc.ID], i+1
		if pid == 0 {
			pid = run + 1 + len(pids)
			pids[r.Alloc.ID] = pid
			p.name("process", pid, 0, r.Alloc.Name+" "+r.Alloc.ID, pid)
		}
		p.name("thread", pid, tid, r.Task, tid)
		for _, s := range r.Spans {
			args := map[string]any{"attempts": s.Count}
			if s.For != "" {
				args["for"] = s.For
			}
			p.span(s.Kind.String(), s.Kind.String(), s.From, s.To, pid, tid, args)
		}
		for _, m := range r.Marks {
			p.mark(m, pid, tid)
		}
	}
	fmt.Fprint(p.to, "\n]}\n")
	return errors.Join(p.err, p.to.Flush())
}

func (p *perfetto) event(e perfettoEvent) {
	text, err := json.Marshal(e)
	p.err = errors.Join(p.err, err)
	fmt.Fprintf(p.to, "%s\n%s", p.separator, visible.JSON(text))
	p.separator = ","
}

// name names a process or a thread, and sets its place among the others.
func (p *perfetto) name(what string, pid, tid int, name string, place int) {
	p.event(perfettoEvent{Name: what + "_name", Phase: "M", PID: pid, TID: tid, Args: map[string]any{"name": name}})
	p.event(perfettoEvent{Name: what + "_sort_index", Phase: "M", PID: pid, TID: tid, Args: map[string]any{"sort_index": place}})
}

// span writes what took some time.
func (p *perfetto) span(name, category string, from, to time.Time, pid, tid int, args map[string]any) {
	p.event(perfettoEvent{
		Name: name, Phase: "X", TS: micros(from.Sub(p.begin)), Dur: micros(to.Sub(from)), PID: pid, TID: tid, Cat: category, Args: args,
	})
}

// mark writes what happened at a moment.
func (p *perfetto) mark(m Mark, pid, tid int) {
	args := map[string]any{}
	if m.Detail != "" {
		args["detail"] = m.Detail
	}
	p.event(perfettoEvent{
		Name: m.Title, Phase: "i", TS: micros(m.Time.Sub(p.begin)), PID: pid, TID: tid, Cat: string(m.Kind), Scope: "t", Args: args,
	})
}

func micros(d time.Duration) *float64 { return new(float64(d) / float64(time.Microsecond)) }
