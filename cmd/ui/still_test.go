package ui

import (
	"bytes"
	"strings"
	"testing"
)

// A picture is drawn over the one before, also where the terminal has become narrower
// and wraps its lines.
func TestStill(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	width := 10
	still := &Still{out: &out, size: func() (int, int) { return width, 24 }}
	for _, tt := range []struct {
		width int
		lines []string
		want  string
	}{
		{10, []string{"0123456789", "世界", ""}, "0123456789\n世界\n\n"},
		{10, []string{"a"}, "\x1b[3A\r\x1b[Ja\n"},
		{10, []string{"0123456789", "b"}, "\x1b[A\r\x1b[J0123456789\nb\n"},
		{4, nil, "\x1b[4A\r\x1b[J"},
		{4, []string{"c"}, "c\n"},
	} {
		out.Reset()
		width = tt.width
		if err := still.Show(tt.lines); err != nil || out.String() != tt.want {
			t.Errorf("%q, %v, want %q", out.String(), err, tt.want)
		}
	}
	out.Reset()
	if err := still.Erase(); err != nil || out.String() != "\x1b[A\r\x1b[J" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestUTF8(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]bool{
		"": true, "LANG=C": false, "LANG=C.UTF-8": true, "LANG=de_DE.utf8": true, "LANG=de_DE.ISO-8859-1": false,
		"LC_ALL=C LANG=C.UTF-8": false, "LC_ALL= LC_CTYPE=C.UTF-8 LANG=C": true,
	} {
		s := &Streams{Env: func(name string) string {
			for v := range strings.FieldsSeq(env) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		}}
		if got := s.UTF8(); got != want {
			t.Errorf("%s: %v", env, got)
		}
	}
}
