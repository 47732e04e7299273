package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/engine/leaf/event"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// line returns a numbered line with a notice.
func line(t *testing.T, seq uint64) string {
	t.Helper()
	e := event.Event{Time: begin.Add(time.Duration(seq) * time.Second), Body: event.Notice{Text: fmt.Sprint("n", seq)}}
	text, err := e.Line(seq)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readAll returns the texts of the notices, up to the end.
func readAll(t *testing.T, r *Reader) (texts string) {
	t.Helper()
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return strings.TrimSpace(texts)
		}
		if err != nil {
			t.Fatal(err)
		}
		texts += e.Body.(event.Notice).Text + " "
	}
}

func TestDamageIsLeftOutAndReported(t *testing.T) {
	t.Parallel()
	lines := func(seqs ...uint64) (text string) {
		for _, seq := range seqs {
			text += line(t, seq)
		}
		return text
	}
	old := `{"type":"diagnostic","time":"2026-01-02T03:04:05Z","severity":"warning","summary":"old"}` + "\n"
	newer := `{"seq":2,"type":"from_the_future","time":"2026-01-02T03:04:05Z"}` + "\n"
	for name, c := range map[string]struct {
		text, want string
		warnings   []string
	}{
		"nothing":            {"", "", nil},
		"whole":              {lines(1, 2, 3), "n1 n2 n3", nil},
		"without numbers":    {old + old, "old old", nil},
		"a gap":              {lines(1, 2, 5), "n1 n2 n5", []string{"2 events are missing between 2026-01-02T03:04:07.000Z and 2026-01-02T03:04:10.000Z"}},
		"no beginning":       {lines(2, 3), "n2 n3", []string{"1 event is missing before 2026-01-02T03:04:07.000Z"}},
		"out of order":       {lines(1, 3, 2), "n1 n3 n2", []string{"1 event is missing between 2026-01-02T03:04:06.000Z and 2026-01-02T03:04:08.000Z", "the events after 2026-01-02T03:04:08.000Z are out of order: number 2 follows number 3"}},
		"truncated":          {lines(1) + line(t, 2)[:20], "n1", []string{"the last line is incomplete: later events are missing"}},
		"no events":          {lines(1) + "nonsense\n{}\n" + lines(4), "n1 n4", []string{"2 lines are not events, the first one is line 2: they are left out"}},
		"a line too long":    {lines(1) + strings.Repeat("x", 3*maxLine) + "\n" + lines(3), "n1 n3", []string{"line 2 is not an event: it is left out"}},
		"of a newer version": {lines(1) + newer + lines(3), "n1 n3", []string{`events of type "from_the_future" are left out: a newer taskrun knows them`}},
		"a wrong number":     {strings.Replace(lines(1), `"seq":1`, `"seq":-1`, 1) + lines(2), "n1 n2", nil},
	} {
		r := New(strings.NewReader(c.text))
		if got := readAll(t, r); got != c.want {
			t.Errorf("%s: read %q, want %q", name, got, c.want)
		}
		if diff := cmp.Diff(c.warnings, r.Warnings(true)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// Many gaps are counted, not listed.
func TestManyGaps(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range uint64(100) {
		text.WriteString(line(t, 1+2*i))
	}
	r := New(strings.NewReader(text.String()))
	readAll(t, r)
	if got := r.Warnings(true); len(got) != maxWarnings+1 || got[maxWarnings] != "events are missing in 89 more places" {
		t.Errorf("%q", got)
	}
}

// A history that grows is read on, also within a line, and misses nothing.
func TestGrowingHistory(t *testing.T) {
	t.Parallel()
	file := &growing{}
	r := New(file)
	second := line(t, 2)
	file.text = line(t, 1) + second[:10]
	if got := readAll(t, r); got != "n1" {
		t.Errorf("read %q", got)
	}
	if got := r.Warnings(false); len(got) > 0 {
		t.Errorf("%q", got)
	}
	file.text += second[10:]
	if got := readAll(t, r); got != "n2" || len(r.Warnings(true)) > 0 {
		t.Errorf("read %q, %q", got, r.Warnings(true))
	}
}

type growing struct {
	text string
	at   int
}

func (g *growing) Read(p []byte) (int, error) {
	if g.at == len(g.text) {
		return 0, io.EOF
	}
	n := copy(p, g.text[g.at:])
	g.at += n
	return n, nil
}

// However long a history is, the reader keeps a limited number of allocations.
func TestMemoryOfALongHistory(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 2*maxAllocs + 1 {
		fmt.Fprintf(&text, `{"seq":%d,"type":"diagnostic","time":"2026-01-02T03:04:05Z","job":"j","alloc_id":"%d","summary":"x"}`+"\n", i+1, i)
	}
	r, n := New(strings.NewReader(text.String())), 0
	for _, err := r.Next(); err == nil; _, err = r.Next() {
		n++
	}
	if len(r.allocs) > maxAllocs || cap(r.line) > 4<<10 || n != 2*maxAllocs+1 {
		t.Errorf("%d allocations, a line of %d bytes, %d events", len(r.allocs), cap(r.line), n)
	}
}

// The events of an allocation share its description.
func TestEventsShareTheirAllocation(t *testing.T) {
	t.Parallel()
	text := ""
	for i, id := range []string{"a", "b", "a", "b"} {
		text += fmt.Sprintf(`{"seq":%d,"type":"diagnostic","time":"2026-01-02T03:04:05Z","job":"j","alloc_id":"%s","summary":"x"}`+"\n", i+1, id)
	}
	var of []*event.Alloc
	for r := New(strings.NewReader(text)); len(of) < 4; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		of = append(of, e.Alloc)
	}
	if of[0] != of[2] || of[1] != of[3] || of[0] == of[1] {
		t.Errorf("the allocations are %p", of)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"seq":1,"type":"task_event","time":"2026-01-02T03:04:05Z","alloc_id":"a","event":"Started"}` + "\n"))
	f.Add([]byte("{}\n\n{\"type\":\"x\"}\nnull\n[]"))
	f.Add([]byte(`{"seq":18446744073709551615,"type":"version"}` + "\n" + `{"seq":1,"type":"version"}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := New(strings.NewReader(string(text)))
		for {
			if _, err := r.Next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if got := r.Warnings(true); len(got) > 2*maxWarnings+5 {
			t.Errorf("%d warnings", len(got))
		}
	})
}

// BenchmarkReader reads a history of 100,000 events of a task.
func BenchmarkReader(b *testing.B) {
	var lines bytes.Buffer
	alloc := &event.Alloc{Job: "web", Group: "app", Name: "web.app[0]", ID: "5c1a9f0e-3d1c-4d5b-9a52-7e0b4a1c2d3e"}
	for seq := uint64(1); seq <= 100_000; seq++ {
		e := event.Event{Time: begin.Add(time.Duration(seq) * time.Millisecond), Alloc: alloc, Task: "server"}
		switch seq % 3 {
		case 0:
			e.Body = event.TaskState{State: "running", Restarts: seq / 3}
		case 1:
			e.Body = event.TaskEvent{TaskEvent: event.Started()}
		case 2:
			e.Body = event.TaskEvent{TaskEvent: event.Terminated(1, 0, false, nil)}
		}
		line, err := e.Line(seq)
		if err != nil {
			b.Fatal(err)
		}
		lines.Write(line)
	}
	b.SetBytes(int64(lines.Len()))
	b.ReportAllocs()
	for b.Loop() {
		for r := New(bytes.NewReader(lines.Bytes())); ; {
			if _, err := r.Next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}
