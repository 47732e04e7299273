package view

import (
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/prose"
	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
)

// jsonView shows a run as one JSON object per line, all on stdout. It adds
// three fields to those of tasks and allocations: "partial" for a piece of a
// line whose end is missing (beyond 8 MiB, or because the task ended),
// "replaces" with the ID of the failed allocation that another one replaces,
// and "retry_ms" until a failed one is replaced.
type jsonView struct {
	*common
	tasks map[streamKey]*jsonStream
	order []*jsonStream // in the order of their first output
	buf   []byte
}

// maxJSONLine limits a line in one object, in bytes.
const maxJSONLine = 8 << 20

// jsonStream is one output stream of a task.
type jsonStream struct {
	lines
	head []byte // from the allocation's fields up to the line
	time time.Time
}

func newJSONView(c *common) *jsonView {
	return &jsonView{common: c, tasks: make(map[streamKey]*jsonStream)}
}

func originOf(e event.Event) (o ui.Origin) {
	if e.Alloc != nil {
		o = ui.Origin{Group: e.Alloc.Group, Alloc: e.Alloc.Name, AllocID: e.Alloc.ID}
		if o.Namespace, o.Job = event.SplitJobKey(e.Alloc.Job); o.Namespace == api.DefaultNamespace {
			o.Namespace = ""
		}
	}
	o.Task = e.Task
	return o
}

func (v *jsonView) begin() {
	for _, j := range v.Jobs {
		v.write("run", v.Begin, ui.Run{
			Job: *j.ID, Version: v.Version, PID: v.pid(), Socket: v.Socket, DataDir: v.dataDir(), Address: v.Address,
		})
	}
	for _, d := range v.Warnings {
		v.write("diagnostic", v.Begin, d)
	}
}

func (v *jsonView) event(e event.Event) {
	if ends(e) {
		v.ended(e.Alloc.ID, e.Task)
	}
	switch body := e.Body.(type) {
	case event.Gap:
		v.diagnose(e, "output was left out", prose.Count(int(body.Bytes), "byte")+" of "+body.Stream.String()+": the reader was too slow")
		return
	case event.Notice:
		v.diagnose(e, body.Text, "")
		return
	case event.Progress:
		return
	}
	_ = ui.WriteJSON(v.screen.out(), e) // flush reports errors
}

func (v *jsonView) diagnose(e event.Event, summary, detail string) {
	v.write("diagnostic", e.Time, originOf(e), ui.Diagnostic{Severity: "warning", Summary: summary, Detail: detail})
}

func (v *jsonView) write(kind string, at time.Time, parts ...any) {
	_ = ui.WriteObject(v.screen.out(), kind, at, parts...) // flush reports errors
}

func (v *jsonView) output(e event.Event, stream event.Stream, piece []byte) {
	key := streamKey{e.Alloc.ID, e.Task, stream}
	s := v.tasks[key]
	if s == nil {
		s = &jsonStream{lines: lines{limit: maxJSONLine}, head: logHead(e, stream)}
		v.tasks[key] = s
		v.order = append(v.order, s)
	}
	s.time = e.Time
	s.cut(piece, func(text []byte, whole bool) { v.log(s, text, whole) })
}

// logHead returns the common part of all objects of a stream between time and
// line.
func logHead(e event.Event, stream event.Stream) []byte {
	o, _ := json.Marshal(struct {
		ui.Origin
		Stream string `json:"stream"`
	}{originOf(e), stream.String()})
	return append(append([]byte(`",`), o[1:len(o)-1]...), ',')
}

// log writes a line without encoding/json, because almost all bytes of a run
// pass through here.
func (v *jsonView) log(s *jsonStream, text []byte, whole bool) {
	b := append(v.buf[:0], `{"type":"log","time":"`...)
	b = s.time.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, s.head...)
	if utf8.Valid(text) {
		b = append(b, `"line":"`...)
		b = appendJSON(b, text)
	} else {
		b = append(b, `"line_base64":"`...)
		b = base64.StdEncoding.AppendEncode(b, text)
	}
	b = append(b, '"')
	if !whole {
		b = append(b, `,"partial":true`...)
	}
	b = append(b, "}\n"...)
	v.buf = b
	_, _ = v.screen.out().Write(b)
}

// ended writes the text held back for a task whose process has ended.
func (v *jsonView) ended(alloc, task string) {
	for _, stream := range event.Streams {
		v.endLine(v.tasks[streamKey{alloc, task, stream}])
	}
}

func (v *jsonView) close() {
	for _, s := range v.order {
		v.endLine(s)
	}
}

func (v *jsonView) endLine(s *jsonStream) {
	if s != nil {
		s.release(func(text []byte, whole bool) { v.log(s, text, whole) })
	}
}

func (v *jsonView) idle() (again time.Time) { return time.Time{} }

// said returns "": everything is on stdout, and stdout may be blocked.
func (v *jsonView) said(_ time.Time, text string) string {
	if v.streams.ErrTerm {
		return visible.Text(text) + "\n"
	}
	return ""
}

func (v *jsonView) end(r Result) {
	v.close()
	for _, d := range v.Untested {
		v.write("diagnostic", r.Time, d)
	}
	for _, j := range v.Jobs {
		_ = ui.WriteJSON(v.screen.out(), Summarize(v.run, *j.ID, v.Begin, r, v.warnings(), v.lastOutput)) // flush reports errors
	}
}

// appendJSON appends valid UTF-8 as the content of a JSON string.
func appendJSON(dst, text []byte) []byte {
	done := 0 // written part of text
	for i := 0; i < len(text); {
		if c := text[i]; c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if r < ' ' || r == '"' || r == '\\' || !visible.Shown(r) {
			dst = visible.AppendJSON(append(dst, text[done:i]...), r)
			done = i + n
		}
		i += n
	}
	return append(dst, text[done:]...)
}
