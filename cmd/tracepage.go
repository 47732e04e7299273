package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"taskrun/cmd/client"
	"taskrun/cmd/prose"
	"taskrun/cmd/record"
	"taskrun/cmd/report/page"
	"taskrun/cmd/report/trace"
	"taskrun/engine/leaf/event"
)

// Limits of the output in a page.
const (
	pageLines = 200      // of a task
	pageLine  = 2 << 10  // bytes of a line
	pageTask  = 64 << 10 // bytes of a task
	pageTotal = 4 << 20  // bytes of all tasks
)

// openOutput opens a part of the output of a task.
type openOutput func(alloc, task string, part client.Log) (client.Output, error)

// writePage writes a trace as a page, with the output of its run. The run is nil for
// a trace of a cluster.
func writePage(w io.Writer, t *trace.Trace, r *record.Run) error {
	var output []page.Output
	if r != nil {
		output = pageOutput(t, r.Output)
	} else {
		for _, row := range t.Rows {
			output = append(output, page.Output{AllocID: row.Alloc.ID, Task: row.Task, LeftOut: "A page of a cluster has no output."})
		}
	}
	return page.HTML(w, t, output)
}

// pageOutput returns the last lines that the tasks of a trace have written.
func pageOutput(t *trace.Trace, open openOutput) []page.Output {
	all := make([]page.Output, len(t.Rows))
	for i, row := range t.Rows {
		o := page.Output{AllocID: row.Alloc.ID, Task: row.Task}
		for _, stream := range event.Streams {
			lines, err := readEnd(open, row, stream)
			if err != nil {
				o.LeftOut = fmt.Sprintf("Cannot read %s: %v.", stream, err)
			}
			o.Lines = append(o.Lines, lines...)
		}
		slices.SortStableFunc(o.Lines, func(a, b page.Line) int { return a.Time.Compare(b.Time) })
		read := len(o.Lines)
		if o.Lines = lastOf(o.Lines, min(pageTask, pageTotal/len(t.Rows))); len(o.Lines) < read && o.LeftOut == "" {
			o.LeftOut = `Earlier output is left out. "taskrun logs" shows all of it.`
		}
		all[i] = o
	}
	return all
}

// lastOf returns the last lines, as many as a page has of a task, which have at
// most some bytes together.
func lastOf(lines []page.Line, most int) []page.Line {
	first := len(lines)
	for first > max(0, len(lines)-pageLines) {
		if most -= len(lines[first-1].Text); most < 0 {
			break
		}
		first--
	}
	return lines[first:]
}

// readEnd reads the last lines of an output: some more than a page has of it, if
// there are more.
func readEnd(open openOutput, row *trace.Row, stream event.Stream) (lines []page.Line, err error) {
	out, err := open(row.Alloc.ID, row.Task, client.Log{Stream: stream, Tail: pageLines + 1})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	var line []byte // without its end, or the beginning of a long one
	var began time.Time
	end := func() {
		text := strings.TrimRight(string(line), "\r")
		if len(text) > pageLine {
			text = strings.ToValidUTF8(text[:pageLine], "") + "…"
		}
		lines = append(lines, page.Line{Time: began, Stderr: stream == event.Stderr, Text: prose.Unstyled(text)})
		line = line[:0]
	}
	piece := make([]byte, pieceSize)
	for {
		n, err := out.Read(piece)
		for rest := piece[:n]; len(rest) > 0; {
			if len(line) == 0 {
				began = out.Time()
			}
			text, after, ended := bytes.Cut(rest, []byte("\n"))
			line = append(line, text[:min(len(text), pageLine+1-len(line))]...)
			if rest = after; ended {
				end()
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			if len(line) > 0 {
				end()
			}
			return lines, nil
		case err != nil:
			return lines, err
		}
	}
}
