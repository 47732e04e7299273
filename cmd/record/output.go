package record

import (
	"io"
	"path/filepath"

	"taskrun/cmd/outcome"
	"taskrun/cmd/ui/view"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/tasklog"
)

// Limits of the output that a record keeps of a failed task.
const (
	keptOutput = 4 << 10 // bytes of each stream
	keptWidth  = 240
)

// LastOutput returns the last lines that the tasks of a run have written to the
// directory of the run: those of stdout before those of stderr.
func LastOutput(dir string) outcome.Output {
	return func(allocID, task string) []string {
		var text []byte
		for _, stream := range event.Streams {
			logs := allocdir.SharedOf(filepath.Join(dir, "alloc", allocID)).Logs
			r, err := tasklog.OpenReader(logs, task, stream, keptOutput, io.SeekEnd)
			if err != nil {
				continue // the record does without
			}
			part, _ := io.ReadAll(io.LimitReader(r, keptOutput))
			_ = r.Close() // it was only read
			if text = append(text, part...); len(text) > 0 && text[len(text)-1] != '\n' {
				text = append(text, '\n')
			}
		}
		return view.LastLines(text, outcome.LastLines, keptWidth)
	}
}
