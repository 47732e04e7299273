package client

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/nomad/api"
)

// Hear calls written when a task has written output, until the engine has ended
// or ctx has: with nothing where it is in files, and else with it, or with
// words about what is missing.
func (t *Task) Hear(ctx context.Context, stream string, written func(output []byte, missing string)) {
	out, err := t.logs(ctx, stream, map[string]string{"follow": "true", "silent": "true"})
	if err != nil {
		return // whoever asks the engine next will know
	}
	defer out.Close()
	for dec := json.NewDecoder(out); ; {
		var f api.StreamFrame
		if dec.Decode(&f) != nil {
			return
		}
		switch {
		case f.IsHeartbeat():
		case f.FileEvent == fileWritten:
			written(nil, "")
		default:
			written(f.Data, f.FileEvent)
		}
	}
}

// fileWritten is what an engine says instead of the output.
const fileWritten = "file written"
