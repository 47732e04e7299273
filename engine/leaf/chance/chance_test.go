package chance_test

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"testing"
	"time"

	"taskrun/engine/leaf/chance"
)

// draw takes some of everything, for these owners in this order.
func draw(s chance.Source, owners ...string) map[string][]any {
	drawn := map[string][]any{}
	for _, owner := range owners {
		var b [8]byte
		_, _ = io.ReadFull(s.Reader("bytes", owner), b[:])
		drawn[owner] = append(drawn[owner], s.ID("id", owner), s.Float("float", owner), s.Duration(time.Hour, "duration", owner), b)
	}
	return drawn
}

// The numbers of an owner depend on the seed and on its own draws, not on those of
// others.
func TestTheOrderOfOwnersMakesNoDifference(t *testing.T) {
	t.Parallel()
	one := draw(chance.Seeded(7), "a", "b", "a", "c", "b", "a")
	two := draw(chance.Seeded(7), "c", "b", "b", "a", "a", "a")
	for owner := range one {
		if !slices.Equal(one[owner], two[owner]) {
			t.Errorf("%s: %v, then %v", owner, one[owner], two[owner])
		}
	}
	var all []any
	for _, drawn := range []map[string][]any{one, draw(chance.Seeded(8), "a", "b"), draw(chance.Source{}, "a", "a")} {
		for _, values := range drawn {
			all = append(all, values...)
		}
	}
	seen := map[any]bool{}
	for _, v := range all {
		if seen[v] {
			t.Errorf("%v came twice", v)
		}
		seen[v] = true
	}
}

// The names of an owner are told apart, however they are cut.
func TestOwners(t *testing.T) {
	t.Parallel()
	s := chance.Seeded(1)
	seen := map[string]bool{}
	for _, of := range [][]any{{"a", "b", "c"}, {"a", "bc"}, {"ab", "c"}, {"abc"}, {`a", "b`, "c"}, {"a", 1}, {"a", "1"}, {"a", 1, 1}, {"a", 11}, nil} {
		seen[s.ID(of...)] = true
	}
	if len(seen) != 10 {
		t.Errorf("10 owners have %d different IDs", len(seen))
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	id := regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	for _, s := range []chance.Source{{}, chance.Seeded(0), chance.Seeded(1 << 63)} {
		var least, most float64 = 1, 0
		for range 1000 {
			f := s.Float("float")
			least, most = min(least, f), max(most, f)
			if d := s.Duration(3, "duration"); d < 0 || d > 2 {
				t.Errorf("%d is not in [0,3)", d)
			}
			if got := s.ID("id"); !id.MatchString(got) {
				t.Errorf("ID %q", got)
			}
		}
		if least < 0 || least > 0.05 || most < 0.95 || most >= 1 {
			t.Errorf("1000 numbers lie between %v and %v", least, most)
		}
		if s.Duration(1, "duration") != 0 {
			t.Error("a duration below 1 is not 0")
		}
	}
}

// A seed means the same in each version: stored results of runs depend on it.
func TestStable(t *testing.T) {
	t.Parallel()
	s := chance.Seeded(42)
	if got := s.ID("allocation", "web", 0); got != "fc92f256-209c-f6f6-e17d-427092077a76" {
		t.Errorf("ID %s", got)
	}
	if got := s.ID("allocation", "web", 0); got != "8f241728-02d2-0dbc-0548-6fc730ef752e" {
		t.Errorf("the second ID %s", got)
	}
	if got := s.Float("restart"); got != 0.26494299794983955 {
		t.Errorf("number %v", got)
	}
	if got := s.Duration(time.Minute, "splay"); got != 23478271267 {
		t.Errorf("duration %d", got)
	}
	var b [4]byte
	if _, err := io.ReadFull(s.Reader("key"), b[:]); err != nil || !bytes.Equal(b[:], []byte{0x8e, 0xeb, 0x8b, 0x0a}) {
		t.Errorf("bytes %x: %v", b, err)
	}
}
