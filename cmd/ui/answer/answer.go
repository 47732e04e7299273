// Package answer shows the results of commands: as lines or tables, as objects
// of --output json, or in quiet mode.
package answer

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"taskrun/cmd/ui"
	"taskrun/jobspec/visible"
)

// To says where and how to show an answer.
type To struct {
	Streams *ui.Streams
	Mode    ui.Mode
	Color   ui.ColorMode
	At      time.Time // time of objects
}

func (t To) style() *ui.Style { return t.Streams.OutStyle(t.Color) }

// write writes items to stdout: each as an object of a kind or, in quiet mode,
// as a line for scripts, or all of them for people. If quiet is nil, quiet mode
// writes nothing.
func write[T any](t To, kind string, items []T, quiet func(T) string, plain func(io.Writer)) error {
	out := bufio.NewWriter(t.Streams.Out)
	switch t.Mode {
	case ui.JSON:
		for _, item := range items {
			_ = ui.WriteObject(out, kind, t.At, item) // Flush reports errors
		}
	case ui.Quiet:
		for _, item := range items {
			if quiet != nil {
				fmt.Fprintln(out, visible.String(quiet(item)))
			}
		}
	default:
		plain(out)
	}
	return out.Flush()
}

// paintOf returns the color of an addition, a removal or a change.
func paintOf(style *ui.Style, sign string) func(string) string {
	switch sign {
	case "+":
		return style.Good
	case "-":
		return style.Bad
	case "~":
		return style.Waiting
	}
	return style.Quiet
}
