package tasklog

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"taskrun/engine/leaf/event"
)

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	r := recorder{retain: true}
	l := r.open(t, Config{Disabled: true})
	stdout, _ := writers(t, l)
	const size, count = 10_000, 1000
	for i := range count {
		write(t, stdout, string(bytes.Repeat([]byte{byte(i)}, size)))
	}
	if l.memory.held > ringSize {
		t.Errorf("%d bytes are held", l.memory.held)
	}
	kept := 0
	for i, p := range r.pieces {
		got := make([]byte, size)
		n, err := p.src.ReadAt(got, 0)
		switch {
		case err == nil && bytes.Equal(got, p.data):
			kept++
		case kept > 0 || n > 0 || !errors.Is(err, event.ErrOverwritten):
			t.Fatalf("piece %d: %d bytes, %v", i, n, err)
		}
	}
	if want := ringSize / (size + pieceCost); kept != want {
		t.Errorf("%d pieces are kept, want %d", kept, want)
	}
	for _, p := range r.pieces {
		p.src.Release()
	}
	write(t, stdout, "x")
	r.pieces[count].src.Release()
	if l.memory.held > pieceCost+1 {
		t.Errorf("%d bytes are held when all is released", l.memory.held)
	}
}

func TestMemoryOfOneLargePiece(t *testing.T) {
	t.Parallel()
	var ring ring
	p := ring.put(make([]byte, 3*ringSize))
	if n, err := p.ReadAt(make([]byte, 10), 3*ringSize-4); n != 4 || err != io.EOF {
		t.Errorf("%d, %v", n, err)
	}
	ring.put([]byte("next")).Release()
	if _, err := p.ReadAt(make([]byte, 10), 0); !errors.Is(err, event.ErrOverwritten) {
		t.Errorf("%v", err)
	}
	p.Release()
	if ring.held < 0 || ring.held > 2*pieceCost {
		t.Errorf("%d bytes are held", ring.held)
	}
}

var _ event.Source = (*piece)(nil)
