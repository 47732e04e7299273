package page

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"taskrun/cmd/report/trace"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// small returns a run of two tasks, one of which is restarted and then fails.
func small() (*trace.Trace, []Output) {
	three := 3
	alloc := &event.Alloc{Job: "shop", Group: "web", Name: "shop.web[0]", ID: "a1"}
	init := &trace.Row{
		Alloc: alloc, Task: "init", Name: "init", Stage: trace.Prestart, State: "dead", ExitCode: new(int),
		Spans: []trace.Span{{Kind: trace.Setup, From: at(0), To: at(.1), Count: 1}, {Kind: trace.Running, From: at(.1), To: at(1.5), Count: 1}},
		Marks: []trace.Mark{{Time: at(.1), Kind: trace.TaskEvent, Title: "Started", Detail: "Task started by client"}},
	}
	server := &trace.Row{
		Alloc: alloc, Task: "server", Name: "server", Stage: trace.Main, State: "dead", Failed: true, ExitCode: &three, Restarts: 12, Attempt: 1,
		Spans: []trace.Span{
			{Kind: trace.Waiting, From: at(0), To: at(1.5), For: "init", After: init, Count: 1},
			{Kind: trace.Setup, From: at(1.5), To: at(2), For: "artifacts", Count: 1},
			{Kind: trace.Running, From: at(2), To: at(6), Count: 11},
			{Kind: trace.Restarting, From: at(6), To: at(7), Count: 1},
			{Kind: trace.Running, From: at(7), To: at(9.25), Count: 1},
		},
		Marks: []trace.Mark{
			{Time: at(8), Kind: trace.Check, Title: "check alive: failure", Detail: "connection refused", Weight: fold.Setback},
			{Time: at(9.25), Kind: trace.TaskEvent, Title: "Terminated", Detail: "Exit Code: 3", Weight: fold.Trouble},
		},
	}
	drawn := &trace.Trace{
		Jobs: []string{"shop"}, Begin: at(0), End: at(9.25), Status: "failed", Rows: []*trace.Row{init, server},
		Marks: []trace.Mark{{Time: at(.05), Kind: trace.Deployment, Title: "Deployment running"}},
		Critical: []trace.Step{
			{Row: init, Kind: trace.Running, From: at(0), To: at(1.5), Count: 1, Share: .16},
			{Row: server, Kind: trace.Running, From: at(1.5), To: at(9.25), Count: 11, Share: .84},
		},
		Length: 9250 * time.Millisecond, Omitted: 7,
	}
	return drawn, []Output{{AllocID: "a1", Task: "server", LeftOut: "3 earlier lines are left out.", Lines: []Line{
		{Time: at(2.5), Text: "listening"}, {Time: at(9), Stderr: true, Text: "panic: \x1bc <b>"},
	}}}
}

// The golden page has no style and script: those are files of their own.
func TestPage(t *testing.T) {
	t.Parallel()
	tr, output := small()
	var b bytes.Buffer
	if err := HTML(&b, tr, output); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, part := range []string{read("chart.css", "page.css"), read("time.js"), read("main.js")} {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks %.60q", part)
		}
	}
	text = cut(text, "<style>", "</style>")
	text = cut(text, "<script>", "</script>")
	text = cut(text, "style-src 'sha256-", "'")
	text = cut(text, "script-src 'sha256-", "'")
	text = cut(text, `<div id="page"`, "<script")
	golden(t, "small.html", []byte(text))
}

// cut empties the first part of a text between two marks.
func cut(text, from, to string) string {
	i := strings.Index(text, from) + len(from)
	return text[:i] + text[i+strings.Index(text[i:], to):]
}

func TestPicture(t *testing.T) {
	t.Parallel()
	tr, _ := small()
	var b bytes.Buffer
	if err := SVG(&b, tr); err != nil {
		t.Fatal(err)
	}
	golden(t, "small.svg", b.Bytes())
}

func TestPictureOfManyTasksIsLimited(t *testing.T) {
	t.Parallel()
	tr, _ := sample(1000)
	marks := make([]trace.Mark, 10_000)
	for i := range marks {
		marks[i] = trace.Mark{Time: at(float64(i) / 100), Kind: trace.TaskEvent}
	}
	for _, r := range tr.Rows {
		r.Marks = marks
	}
	var b bytes.Buffer
	if err := SVG(&b, tr); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 6<<20 {
		t.Errorf("the picture has %d bytes", b.Len())
	}
	if !strings.Contains(b.String(), "1000 tasks (the first 300 are shown)") {
		t.Error("the picture does not say what it leaves out")
	}
}

func TestEmptyTrace(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := HTML(&b, &trace.Trace{Begin: at(0), End: at(0), Live: true, Status: "running"}, nil); err != nil {
		t.Fatal(err)
	}
	check(t, b.Bytes(), "")
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0", 1500 * time.Nanosecond: "2µs", time.Millisecond - time.Microsecond: "999µs", time.Millisecond: "1ms", 4321 * time.Microsecond: "4.3ms", 12_345 * time.Microsecond: "10ms", 1250 * time.Millisecond: "1.25s",
		59_960 * time.Millisecond: "1m", 75 * time.Second: "1m15s", 3600 * time.Second: "1h", 86399 * time.Second: "1d", 50 * time.Hour: "2d2h",
	} {
		if got := duration(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// A span that is too short to see is left out where another one is drawn already.
func TestPictureOfShortSpans(t *testing.T) {
	t.Parallel()
	tr := &trace.Trace{Begin: at(0), End: at(1000), Status: "complete", Rows: []*trace.Row{{Name: "web", Spans: []trace.Span{
		{Kind: trace.Running, From: at(1), To: at(1.01), Count: 1},
		{Kind: trace.Running, From: at(1.01), To: at(1.02), Count: 1},
		{Kind: trace.Running, From: at(500), To: at(1000), Count: 1},
	}}}}
	var b bytes.Buffer
	if err := SVG(&b, tr); err != nil {
		t.Fatal(err)
	}
	_, path, _ := strings.Cut(b.String(), `class="running" d="`)
	path, _, _ = strings.Cut(path, `"`)
	if n := strings.Count(path, "M"); n != 2 {
		t.Errorf("%d spans are drawn, want 2: %s", n, path)
	}
}

// A run may seem to have been as long as a duration can be.
func TestPictureOfTheLongestRun(t *testing.T) {
	t.Parallel()
	tr, _ := small()
	tr.Begin = tr.End.AddDate(-1000, 0, 0)
	var b bytes.Buffer
	if err := SVG(&b, tr); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), `class="dim tick"`); n != 6 || !strings.Contains(b.String(), ">100000d<") {
		t.Errorf("%d ticks: %s", n, b.String())
	}
}

// FuzzPage has jobs, tasks, events and output of hostile names and texts.
func FuzzPage(f *testing.F) {
	for _, seed := range []string{
		"web", "</script><img src=x onerror=alert(1)>", "<!--<script>", "]]></title><script>alert(1)</script>",
		"\u2028\u2029\x00\xff\x1b[31m", `"' onload="alert(1)`, "{{data}}{{svg}}", "\u202egnp.exe", "</style><style>*{}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tr, output := small()
		tr.Jobs[0], tr.Status = text, text
		for _, r := range tr.Rows {
			r.Name, r.Task, r.State = text, text, text
			for i := range r.Spans {
				r.Spans[i].For = text
			}
			for i := range r.Marks {
				r.Marks[i].Title, r.Marks[i].Detail = text, text
			}
		}
		output[0].Task, output[0].Lines[0].Text, output[0].LeftOut = text, text, text
		var b bytes.Buffer
		if err := HTML(&b, tr, output); err != nil {
			t.Fatal(err)
		}
		check(t, b.Bytes(), text)
		b.Reset()
		if err := SVG(&b, tr); err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(&b); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("the picture is no XML: %v", err)
			}
		}
	})
}

// check fails the test if a page has other elements or attributes than it is made
// of, or data that is not JSON.
func check(t *testing.T, page []byte, text string) {
	t.Helper()
	if bytes.ContainsRune(page, '\u202e') {
		t.Error("the page has a character that reverses others")
	}
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	elements := map[string]int{}
	var scripts []string
	for n := range doc.Descendants() {
		if n.Type == html.CommentNode {
			t.Errorf("the page has a comment: %.80q", n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		elements[n.Data]++
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" || a.Key == "href" && n.Data != "link" {
				t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
			}
		}
		if n.Data == "script" && n.FirstChild != nil {
			scripts = append(scripts, n.FirstChild.Data)
		}
	}
	for name, want := range map[string]int{"script": 2, "style": 1, "img": 0, "iframe": 0, "link": 1, "figure": 1, "body": 1, "dialog": 1} {
		if elements[name] != want {
			t.Errorf("the page has %d elements <%s>, want %d", elements[name], name, want)
		}
	}
	var d data
	if len(scripts) == 0 {
		t.Fatal("the page has no scripts")
	}
	if err := json.Unmarshal([]byte(scripts[0]), &d); err != nil {
		t.Fatalf("the data is not JSON: %v", err)
	}
	if text != "" && !slices.Contains(d.Texts, visible.Text(text)) {
		t.Errorf("the page lacks the text %q", text)
	}
}

// BenchmarkPage writes the page of a run with 100,000 events.
func BenchmarkPage(b *testing.B) {
	tr := large()
	b.ReportAllocs()
	for b.Loop() {
		size := counter(0)
		if err := HTML(&size, tr, nil); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(size), "bytes/page")
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }
