package play

import (
	"io"
	"sync"

	"taskrun/engine/leaf/event"
)

// tail keeps the last bytes that are written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// Write never fails.
func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, text[max(0, len(text)-maxOutput):]...)
	if over := len(t.kept) - maxOutput; over > maxOutput { // not with each write
		t.kept = append([]byte(nil), t.kept[over:]...)
	}
	return len(text), nil
}

// text returns what is kept.
func (t *tail) text() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept[max(0, len(t.kept)-maxOutput):]
}

// output is the end of a task's output.
type output [2]tail // by stream

// add adds a piece, which can be read until the next event. It skips pieces that
// were overwritten.
func (o *output) add(piece event.Output) {
	skip := max(0, piece.Length-maxOutput)
	text := io.NewSectionReader(piece.Source, piece.Offset+skip, piece.Length-skip)
	_, _ = io.Copy(&o[piece.Stream], text)
}

// maxOutput is how much of a task's output is kept, in bytes of each stream.
const maxOutput = 1 << 20
