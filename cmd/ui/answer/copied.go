package answer

import (
	"fmt"
	"io"

	"taskrun/cmd/ui"
	"taskrun/jobspec/visible"
)

// Copied is what was copied to or from a task.
type Copied struct {
	ui.Origin
	From  string `json:"from"`
	To    string `json:"to"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

// WriteCopied reports what was copied.
func WriteCopied(to To, c Copied) error {
	return write(to, "copied", []Copied{c}, nil, func(out io.Writer) {
		fmt.Fprintln(out, visible.String(fmt.Sprintf("copied %s to %s: %s, %d bytes", c.From, c.To, ui.Count(c.Files, "file"), c.Bytes)))
	})
}
