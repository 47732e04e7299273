package ui

import (
	"errors"
	"testing"
	"time"
)

// An object is one line: its type and time, then the fields of all its parts.
func TestObjects(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 14, 13, 0, 0, 0, time.FixedZone("", 3600))
	const head = `{"type":"x","time":"2026-03-14T12:00:00Z"`
	for _, tt := range []struct {
		parts []any
		want  string
	}{
		{nil, head + "}\n"},
		{[]any{struct{}{}}, head + "}\n"},
		{[]any{Origin{Job: "<a&b>", Task: "t\u202e"}}, head + `,"job":"<a&b>","task":"t\u202e"}` + "\n"},
		{[]any{Port{"a", "http", "127.0.0.1:80"}, Origin{}, Origin{Group: "g"}}, head + `,"alloc":"a","label":"http","address":"127.0.0.1:80","group":"g"}` + "\n"},
	} {
		s, out, _ := Test()
		if err := WriteObject(s.Out, "x", at, tt.parts...); err != nil || out.String() != tt.want {
			t.Errorf("%v: %s, want %s, error %v", tt.parts, out, tt.want, err)
		}
	}
	s, out, _ := Test()
	if err := WriteJSON(s.Out, Port{Alloc: "a"}); err != nil || out.String() != `{"alloc":"a","label":"","address":""}`+"\n" {
		t.Errorf("%s, error %v", out, err)
	}
	if err := WriteJSON(brokenWriter{}, 1); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

// Warnings are objects on stdout or lines on stderr, or are not shown.
func TestWarnings(t *testing.T) {
	t.Parallel()
	all := []Diagnostic{
		{Severity: "warning", Summary: "a\nb", Detail: "why", File: "a.hcl", Line: 3},
		{Severity: "hint", Summary: "c"},
	}
	for mode, want := range map[Mode]string{
		Plain: "warning: a.hcl:3: a b; why\nhint: c\n", Quiet: "",
	} {
		s, out, stderr := Test()
		if err := WriteWarnings(s, mode, ColorNever, all); err != nil || out.Len() > 0 || stderr.String() != want {
			t.Errorf("%v: stdout %q, stderr %q, want %q, error %v", mode, out, stderr, want, err)
		}
	}
	s, out, _ := Test()
	if err := WriteDiagnostic(s.Out, time.Unix(0, 0), all[1]); err != nil ||
		out.String() != `{"type":"diagnostic","time":"1970-01-01T00:00:00Z","severity":"hint","summary":"c","detail":"","file":"","line":0,"column":0}`+"\n" {
		t.Errorf("%s, error %v", out, err)
	}
	s, out, _ = Test()
	if err := WriteWarnings(s, JSON, ColorNever, all[1:]); err != nil || out.Len() == 0 {
		t.Errorf("%q, error %v", out, err)
	}
	s.Out = brokenWriter{}
	if err := WriteWarnings(s, JSON, ColorNever, all); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}

// Styles make control characters visible, and color only if they are told to.
func TestStyles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		paint     func(*Style, string) string
		code, end string
	}{
		{"good", (*Style).Good, "32", "0"},
		{"bad", (*Style).Bad, "31;1", "0;22"},
		{"waiting", (*Style).Waiting, "33", "0"},
		{"quiet", (*Style).Quiet, "2", "22"},
		{"strong", (*Style).Strong, "1", "22"},
		{"note", (*Style).Note, "36", "0"},
	} {
		if got := tt.paint(NewStyle(false), "a\x1bb"); got != `a\x1bb` {
			t.Errorf("%s without colors: %q", tt.name, got)
		}
		if got, want := tt.paint(NewStyle(true), "a\x1bb"), "\x1b["+tt.code+`ma\x1bb`+"\x1b["+tt.end+"m"; got != want {
			t.Errorf("%s: %q, want %q", tt.name, got, want)
		}
	}
	if got := NewStyle(true).Task(1, "t"); got != "\x1b[35mt\x1b[0m" {
		t.Errorf("the second task is %q", got)
	}
}

// Tables are cut only at the edge of a terminal.
func TestTableWidth(t *testing.T) {
	t.Parallel()
	s, out, _ := Test()
	if got := s.TableWidth(); got != 0 {
		t.Errorf("without a terminal, %d columns", got)
	}
	s.OutTerm = true
	if got := s.TableWidth(); got != 80 {
		t.Errorf("%d columns", got)
	}
	if WriteLines(s.Out, []string{"a", "b"}); out.String() != "a\nb\n" {
		t.Errorf("lines %q", out)
	}
}
