package tasklog

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// faulty is a file that cannot be read before an offset.
type faulty struct {
	io.ReaderAt
	from int64
	err  error
}

func (f faulty) ReadAt(p []byte, off int64) (int, error) {
	if off < f.from {
		return 0, f.err
	}
	return f.ReaderAt.ReadAt(p, off)
}

// A file that cannot be read fails the tail, unless there is enough of it; one
// that has become shorter does not.
func TestTailOfAFaultyFile(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("line\n", 2*tailBlock/5)
	size, broken := int64(len(text)), errors.New("disk on fire")
	for name, tt := range map[string]struct {
		file  io.ReaderAt
		lines int
		err   error
		want  string
	}{
		"cannot be read":     {faulty{strings.NewReader(text), size + 1, broken}, 1, broken, ""},
		"not its beginning":  {faulty{strings.NewReader(text), size - tailBlock, broken}, tailBlock, broken, ""},
		"the end is enough":  {faulty{strings.NewReader(text), size - tailBlock, broken}, 2, nil, "line\nline\n"},
		"it has become less": {strings.NewReader(text[:size-5]), 1, nil, "line\n"},
		"it is empty now":    {strings.NewReader(""), 1, nil, ""},
	} {
		tail := &tailReader{lines: tt.lines}
		if err := tail.take(tt.file, size); !errors.Is(err, tt.err) {
			t.Errorf("%s: error %v, want %v", name, err, tt.err)
		} else if got := string(bytes.Join(tail.result(), nil)); err == nil && got != tt.want {
			t.Errorf("%s: %.20q, want %q", name, got, tt.want)
		}
	}
}
