package cmd

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"taskrun/cmd/client"
	"taskrun/cmd/report/trace"
	"taskrun/engine/leaf/event"
)

// pieces is an output of pieces that were read at different seconds.
type pieces struct {
	left []string
	at   int
}

func (p *pieces) Read(to []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(to, p.left[0])
	p.left[0] = p.left[0][n:]
	p.at++
	if p.left[0] == "" {
		p.left = p.left[1:]
	}
	return n, nil
}

func (p *pieces) Time() time.Time { return time.Unix(int64(p.at), 0) }
func (p *pieces) Close() error    { return nil }

func TestOutputOfAPage(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "line %d\n", i)
	}
	for name, c := range map[string]struct {
		stdout, stderr []string
		want           []string // STREAM SECOND TEXT
		lines          int
		left           bool
	}{
		"none":           {},
		"both streams":   {stdout: []string{"one\n", "two\nthr", "ee"}, stderr: []string{"oops\n"}, want: []string{"out 1 one", "err 1 oops", "out 2 two", "out 2 three"}},
		"colors":         {stdout: []string{"\x1b[31mred\x1b[0m\r\n\n"}, want: []string{"out 1 red", "out 1 "}},
		"many lines":     {stdout: []string{many.String()}, lines: pageLines, left: true},
		"a long line":    {stdout: []string{strings.Repeat("é", pageLine) + "\nend\n"}, want: []string{"out 1 " + strings.Repeat("é", pageLine/2) + "…", "out 1 end"}},
		"many bytes":     {stdout: []string{strings.Repeat(strings.Repeat("x", 1000)+"\n", 100)}, lines: pageTask / 1000, left: true},
		"an endless one": {stdout: []string{strings.Repeat("x", 1<<20)}, lines: 1},
	} {
		t.Run(name, func(t *testing.T) {
			tr := &trace.Trace{Rows: []*trace.Row{{Alloc: &event.Alloc{ID: "a1"}, Task: "server"}}}
			got := pageOutput(tr, func(alloc, task string, part client.Log) (client.Output, error) {
				if alloc != "a1" || task != "server" || part.Tail < pageLines {
					t.Errorf("opened %+v of task %q of %q", part, task, alloc)
				}
				if part.Stream == event.Stderr {
					return &pieces{left: c.stderr}, nil
				}
				return &pieces{left: c.stdout}, nil
			})
			if (got[0].LeftOut != "") != c.left {
				t.Errorf("left out: %q", got[0].LeftOut)
			}
			var lines []string
			for _, l := range got[0].Lines {
				stream := map[bool]string{false: "out", true: "err"}[l.Stderr]
				lines = append(lines, fmt.Sprintf("%s %d %s", stream, l.Time.Unix(), l.Text))
			}
			if c.lines == 0 {
				c.lines = len(c.want)
			} else {
				c.want = lines
			}
			if len(lines) != c.lines || strings.Join(lines, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("%d lines: %q, want %d: %q", len(lines), lines, c.lines, c.want)
			}
		})
	}
}
