package play

import (
	"io"
	"sync"
)

// tail keeps the end of what is written to it.
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

// nothing is an empty input.
type nothing struct{}

// Read implements [io.Reader].
func (nothing) Read([]byte) (int, error) { return 0, io.EOF }
