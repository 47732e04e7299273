package worker

import (
	"bytes"
	"slices"
	"testing"
)

// The beginning and the end of a worker's messages are kept, in whatever pieces
// they arrive.
func TestTail(t *testing.T) {
	t.Parallel()
	all := bytes.Repeat([]byte("0123456789abcdef\n"), 5*kept/17)
	for _, length := range []int{0, 1, kept, 2*kept - 1, 2 * kept, 2*kept + 1, 3 * kept, 4*kept + 1, len(all)} {
		text := all[:length]
		want := string(text)
		if length > 2*kept {
			want = string(text[:kept]) + "\n…\n" + string(text[length-kept:])
		}
		for _, size := range []int{1000, kept + 1, 4 * kept} {
			var last tail
			for piece := range slices.Chunk(text, size) {
				if n, err := last.Write(piece); n != len(piece) || err != nil {
					t.Fatalf("%d of %d bytes are written, %v", n, len(piece), err)
				}
			}
			if got := last.String(); got != want || len(last.last) > 2*kept {
				t.Errorf("of %d bytes in pieces of %d it keeps %d and shows %d, want %d", length, size, len(last.last), len(got), len(want))
			}
		}
	}
}
