package port_test

import (
	"fmt"
	"testing"

	"taskrun/engine/port"
)

func TestSequence(t *testing.T) {
	t.Parallel()
	s := port.NewSequence(0)
	none := func(int) bool { return false }
	for _, c := range []struct {
		owner      string
		want, port int
		spare      func(int) bool
	}{
		{"a", 0, 20000, none},
		{"b", 0, 20001, none},
		{"a", 0, 20000, none},
		{"c", 8080, 8080, none},
		{"d", 8080, 20002, none},
		{"e", 20003, 20003, none},
		{"f", 0, 20005, func(n int) bool { return n == 20004 }},
		{"c", 0, 8080, none},
	} {
		if got := s.Of(c.owner, c.want, c.spare); got != c.port {
			t.Errorf("%s gets %d, not %d", c.owner, got, c.port)
		}
	}
	if got := port.NewSequence(2).Of("a", 0, none); got != 22000 {
		t.Errorf("the third job begins with %d", got)
	}
}

// After the last port of the range comes the first one, and when all are given
// some are given twice.
func TestSequenceWraps(t *testing.T) {
	t.Parallel()
	s := port.NewSequence(13)
	seen := map[int]int{}
	for i := range port.LastDynamic - port.FirstDynamic + 2 {
		number := s.Of(fmt.Sprint(i), 0, func(int) bool { return false })
		if number < port.FirstDynamic || number > port.LastDynamic {
			t.Fatalf("port %d is none of the range", number)
		}
		seen[number]++
	}
	if len(seen) != port.LastDynamic-port.FirstDynamic+1 {
		t.Errorf("%d ports were given", len(seen))
	}
}
