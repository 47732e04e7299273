package ui

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
)

// jsonView shows a run as one JSON object a line, all on stdout. It adds three
// fields to what tasks and allocations tell: "partial" on a piece of a line
// whose end has not come (beyond 8 MiB, or when the task ended before it),
// "replaces" with the ID of the failed allocation in whose place another runs,
// and "retry_ms" until a failed one is replaced.
type jsonView struct {
	d       *Display
	opts    Options
	streams map[streamKey]*jsonStream
	order   []*jsonStream // by first output
	buf     []byte
}

// maxJSONLine is how long a line may be to become one object, in bytes.
const maxJSONLine = 8 << 20

// jsonStream is one stream of one task.
type jsonStream struct {
	lines
	head []byte // from the allocation's fields up to the line
	time time.Time
}

func newJSONView(d *Display, opts Options) *jsonView {
	return &jsonView{d: d, opts: opts, streams: make(map[streamKey]*jsonStream)}
}

func head(kind string, at time.Time) jsonHead { return jsonHead{kind, at.UTC()} }

func origin(e event.Event) (o jsonOrigin) {
	if e.Alloc != nil {
		o = jsonOrigin{Job: e.Alloc.Job, Group: e.Alloc.Group, Alloc: e.Alloc.Name, AllocID: e.Alloc.ID}
	}
	o.Task = e.Task
	return o
}

func (v *jsonView) begin() {
	for _, j := range v.opts.Jobs {
		v.write(jsonRun{
			jsonHead: head("run", v.opts.Begin), Job: *j.ID, Version: v.opts.Version,
			PID: v.opts.pid(), Socket: v.opts.Socket, DataDir: v.opts.DataDir, Address: v.opts.Address,
		})
	}
	for _, d := range v.opts.Warnings {
		v.write(jsonDiagnostic{jsonHead: head("diagnostic", v.opts.Begin), Diagnostic: d})
	}
}

func (v *jsonView) event(e event.Event) {
	switch body := e.Body.(type) {
	case event.TaskEvent:
		if body.Type == api.TaskTerminated {
			v.endTask(e)
		}
	case event.TaskState:
		if body.State == "dead" {
			v.endTask(e)
		}
	case event.Gap:
		v.diagnose(e, "output was left out", plural(int(body.Bytes), "byte")+" of "+body.Stream.String()+": the reader was too slow")
		return
	case event.Notice:
		v.diagnose(e, body.Text, "")
		return
	case event.Progress:
		return
	}
	v.write(e)
}

func (v *jsonView) diagnose(e event.Event, summary, detail string) {
	v.write(jsonDiagnostic{
		head("diagnostic", e.Time), origin(e),
		Diagnostic{Severity: "warning", Summary: summary, Detail: detail},
	})
}

func (v *jsonView) write(object any) { writeJSON(v.d.screen.out(), object) }

// WriteDiagnostic writes a problem as an object of --output json, for what is
// found before a run.
func WriteDiagnostic(w io.Writer, at time.Time, d Diagnostic) error {
	var line bytes.Buffer
	writeJSON(&line, jsonDiagnostic{jsonHead: head("diagnostic", at), Diagnostic: d})
	_, err := w.Write(line.Bytes())
	return err
}

// writeJSON writes an object of strings and numbers as one line.
func writeJSON(w io.Writer, object any) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(object)                     // which can be encoded
	_, _ = w.Write(visible.JSON(line.Bytes())) // the errors of writing stay in the buffer
}

func (v *jsonView) output(e event.Event, stream event.Stream, piece []byte) {
	key := streamKey{e.Alloc.ID, e.Task, stream}
	s := v.streams[key]
	if s == nil {
		s = &jsonStream{lines: lines{limit: maxJSONLine}, head: logHead(e, stream)}
		v.streams[key] = s
		v.order = append(v.order, s)
	}
	s.time = e.Time
	s.cut(piece, func(text []byte, whole bool) { v.log(s, text, whole) })
}

// logHead is what all objects of one stream have between time and line.
func logHead(e event.Event, stream event.Stream) []byte {
	o, _ := json.Marshal(struct {
		jsonOrigin
		Stream string `json:"stream"`
	}{origin(e), stream.String()})
	return append(append([]byte(`",`), o[1:len(o)-1]...), ',')
}

// log writes a line without the detour of encoding/json: this is where almost
// all bytes of a run go through.
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
	_, _ = v.d.screen.out().Write(b)
}

// endTask writes what is held back for a task whose process has ended.
func (v *jsonView) endTask(e event.Event) {
	for _, stream := range []event.Stream{event.Stdout, event.Stderr} {
		v.endLine(v.streams[streamKey{e.Alloc.ID, e.Task, stream}])
	}
}

// endAll writes what is held back at all.
func (v *jsonView) endAll() {
	for _, s := range v.order {
		v.endLine(s)
	}
}

// endLine writes what is held back of an unfinished line.
func (v *jsonView) endLine(s *jsonStream) {
	if s != nil {
		s.release(func(text []byte, whole bool) { v.log(s, text, whole) })
	}
}

func (v *jsonView) idle() {}

// said is silent: everything is on stdout, and stdout may be blocked.
func (v *jsonView) said(_ time.Time, text string) string {
	if v.d.streams.ErrTerm {
		return visible.Text(text) + "\n"
	}
	return ""
}

func (v *jsonView) end(r Result) {
	v.endAll()
	for _, j := range v.opts.Jobs {
		v.write(Summarise(v.d.run, *j.ID, v.opts.Begin, r))
	}
}

// appendJSON appends valid UTF-8 as the inside of a JSON string.
func appendJSON(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	start := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			continue
		}
		if c >= 0x7f {
			r, n := utf8.DecodeRune(text[i:])
			if !visible.Shown(r) {
				dst = visible.AppendJSON(append(dst, text[start:i]...), r)
				start = i + n
			}
			i += n - 1
			continue
		}
		dst = append(dst, text[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(dst, text[start:]...)
}
