package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// hostile returns a trace with hostile names.
func hostile() *Trace {
	name := "a: b; #c %d\n\x1b[31m<script>\u202e\"`" + strings.Repeat("x", 100)
	alloc := &event.Alloc{Job: name, Group: "g", Name: name + ".g[0]", ID: "1"}
	b := NewBuilder(nil)
	for i, e := range []*api.TaskEvent{event.Received(), event.Started(), event.HookMessage(name), event.Terminated(1, 0, false, errors.New(name))} {
		b.Add(event.Event{Time: begin.Add(time.Duration(i) * time.Second), Alloc: alloc, Task: name, Body: event.TaskEvent{TaskEvent: e}})
	}
	b.Add(event.Event{Time: begin, Body: event.Notice{Text: name}})
	return b.Trace(time.Time{})
}

func TestFormats(t *testing.T) {
	t.Parallel()
	traces := map[string]*Trace{
		"hello": build([]*api.Job{helloJob()}, story(t, hello)).Trace(time.Time{}), "hostile": hostile(), "nothing": NewBuilder(nil).Trace(time.Time{}),
	}
	for name, trace := range traces {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var perfetto, mermaid, object bytes.Buffer
			if err := errors.Join(Perfetto(&perfetto, trace), Mermaid(&mermaid, trace), JSON(&object, trace)); err != nil {
				t.Fatal(err)
			}
			if !json.Valid(object.Bytes()) || strings.Count(object.String(), "\n") != 1 || strings.ContainsAny(object.String(), "\x1b\u202e") {
				t.Errorf("no object: %s", object.String())
			}
			golden(t, name+".perfetto.json", perfetto.String())
			golden(t, name+".mermaid", mermaid.String())
			checkPerfetto(t, perfetto.Bytes(), trace)
		})
	}
}

// checkPerfetto checks what Perfetto requires: of each span a time and a length, of each
// mark a time, and of each thread a name.
func checkPerfetto(t *testing.T, text []byte, trace *Trace) {
	t.Helper()
	var o struct {
		TraceEvents []perfettoEvent `json:"traceEvents"`
	}
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	type thread struct{ pid, tid int }
	named := map[thread]bool{{1, 0}: true}
	spans := 0
	for _, e := range o.TraceEvents {
		switch e.Phase {
		case "M":
			named[thread{e.PID, e.TID}] = true
			continue
		case "X":
			spans++
			if e.Dur == nil || *e.Dur < 0 {
				t.Errorf("no length: %+v", e)
			}
		case "i":
		default:
			t.Errorf("unknown: %+v", e)
		}
		if e.TS == nil || *e.TS < 0 || !named[thread{e.PID, e.TID}] {
			t.Errorf("no time, or no name: %+v", e)
		}
	}
	want := len(trace.Critical)
	for _, r := range trace.Rows {
		want += len(r.Spans)
	}
	if spans != want {
		t.Errorf("%d spans, want %d", spans, want)
	}
}

// Every line of a diagram matches the grammar, and there are not too many.
func TestMermaidGrammar(t *testing.T) {
	t.Parallel()
	b := NewBuilder(nil)
	for i := range 300 {
		k := task{webAlloc(i), begin, b.Add}
		k.alloc.Name = strings.Replace(k.alloc.Name, "[0]", "["+k.alloc.ID+"]", 1)
		k.event(event.Received())
		k.restart(1)
	}
	grammar := regexp.MustCompile(`^(gantt|    title [^:;#\n]+|    dateFormat x|    axisFormat %[^:;]+(:%M:%S|:%M)?|    section [^:;#%<>\n]+|    [^:;#%<>\n]+ :((done|active|crit), )?\d+, \d+|    %% .*)$`)
	for _, trace := range []*Trace{hostile(), b.Trace(time.Time{}), build(nil, story(t, hello)).Trace(begin.Add(100 * time.Hour))} {
		var out bytes.Buffer
		if err := Mermaid(&out, trace); err != nil {
			t.Fatal(err)
		}
		if out.Len() > 50_000 {
			t.Errorf("%d bytes", out.Len())
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); !grammar.MatchString(line) {
				t.Errorf("%q is of no diagram", line)
			}
		}
	}
}

// The times on the axis of a diagram tell its ends apart, and a diagram has all bars
// for which there is room.
func TestMermaidLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		length time.Duration
		rows   []int // their spans
		axis   string
		bars   int
		left   string
	}{
		{10*time.Second - 1, []int{1}, "%S.%L", 1, ""},
		{10 * time.Second, []int{1, 0, 2}, "%H:%M:%S", 3, ""},
		{48*time.Hour - 1, []int{maxBars - 1, 1}, "%H:%M:%S", maxBars, ""},
		{48 * time.Hour, []int{maxBars - 1, 2, 1}, "%m-%d %H:%M", maxBars, "1"},
		{time.Minute, []int{maxBars, 1, 1, 0}, "%H:%M:%S", maxBars, "2"},
	} {
		drawn := &Trace{Begin: begin, End: begin.Add(tt.length)}
		for _, n := range tt.rows {
			drawn.Rows = append(drawn.Rows, &Row{Name: "row", Spans: make([]Span, n)})
		}
		var out bytes.Buffer
		if err := Mermaid(&out, drawn); err != nil {
			t.Fatal(err)
		}
		_, left, _ := strings.Cut(out.String(), "tasks that are left out, because there are too many: ")
		if bars := strings.Count(out.String(), " :"); !strings.Contains(out.String(), "axisFormat "+tt.axis+"\n") || bars != tt.bars || strings.TrimSpace(left) != tt.left {
			t.Errorf("%v, rows %v: %d bars, left out: %q\n%.200s", tt.length, tt.rows, bars, left, &out)
		}
	}
}

// broken is a stream that is closed.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

var errBroken = errors.New("broken")

func TestClosedStream(t *testing.T) {
	t.Parallel()
	trace := build(nil, story(t, hello)).Trace(time.Time{})
	for name, err := range map[string]error{"perfetto": Perfetto(broken{}, trace), "mermaid": Mermaid(broken{}, trace), "json": JSON(broken{}, trace)} {
		if !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
