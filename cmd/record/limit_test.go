package record

import (
	"strings"
	"testing"
)

// The directory of an archive may be read up to a limit, in total.
func TestLimitedReaderAt(t *testing.T) {
	t.Parallel()
	l := &limitedReaderAt{strings.NewReader("0123456789"), 5}
	p := make([]byte, 3)
	if n, err := l.ReadAt(p, 4); n != 3 || err != nil || string(p) != "456" {
		t.Errorf("%d bytes, %q, %v", n, p, err)
	}
	if n, err := l.ReadAt(p[:2], 0); n != 2 || err != nil || string(p[:2]) != "01" {
		t.Errorf("up to the limit: %d bytes, %q, %v", n, p, err)
	}
	if n, err := l.ReadAt(p[:1], 0); n != 0 || err == nil || err.Error() != "too large" {
		t.Errorf("after the limit: %d bytes, %v", n, err)
	}
}
