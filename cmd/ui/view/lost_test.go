package view

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"taskrun/engine/leaf/event"
)

// failing is output whose beginning can be read, followed by an error.
type failing struct {
	source
	err error
}

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(f.source)) {
		return 0, f.err
	}
	n := copy(p, string(f.source)[off:])
	if n < len(p) {
		return n, f.err
	}
	return n, nil
}

// TestUnreadableOutput checks that a notice says how much output cannot be
// read, and why unless it is simply gone, and that the rest is shown.
func TestUnreadableOutput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err    error
		notice bool
	}{
		{errors.New("disk on fire"), true},
		{io.ErrUnexpectedEOF, true},
		{io.EOF, false},
		{event.ErrOverwritten, false},
		{fmt.Errorf("read: %w", event.ErrOverwritten), false},
	} {
		s := newStage(t, 0, Options{})
		a := alloc("job", 0, "00000000-0000-0000-0000-000000000001")
		s.say(a, "web", event.Output{Stream: event.Stdout, Source: failing{"before\n", tt.err}, Length: 100})
		s.writes(a, "web", event.Stdout, "after\n")
		s.shows()
		if out := s.out.String(); !strings.Contains(out, "before\n") || !strings.Contains(out, "after\n") {
			t.Errorf("%v: shown are %q", tt.err, out)
		}
		said := s.err.String()
		if got := strings.Contains(said, "cannot read output: "+tt.err.Error()); got != tt.notice {
			t.Errorf("%v: said %q", tt.err, said)
		}
		if !strings.Contains(said, "93 ") && !strings.Contains(said, "93B") {
			t.Errorf("%v: how much is missing is not said: %q", tt.err, said)
		}
	}
}
