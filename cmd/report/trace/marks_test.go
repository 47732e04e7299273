package trace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"taskrun/engine/fold"
)

// Of too many marks the first and the last ones stay, and of the others those that weigh
// most, the earliest first. The others are counted.
func TestManyMarks(t *testing.T) {
	t.Parallel()
	const ends = keptMarks / 4
	var m marks
	began := time.Unix(0, 0)
	for i := range 2 * keptMarks {
		if len(m.kept) != i || m.omitted != 0 {
			t.Fatalf("%d marks are kept of %d, %d omitted", len(m.kept), i, m.omitted)
		}
		mark := Mark{Time: began.Add(time.Duration(i)), Title: strconv.Itoa(i), Weight: fold.Ordinary}
		if i == 2*keptMarks-ends-1 { // the last one that may be dropped
			mark.Weight = fold.Trouble
		}
		m.add(mark)
	}
	var want []string
	for i := range 2 * keptMarks {
		if i < keptMarks-ends-1 || i == 2*keptMarks-ends-1 || i >= 2*keptMarks-ends {
			want = append(want, strconv.Itoa(i))
		}
	}
	titles := func() (all []string) {
		for _, mark := range m.list() {
			all = append(all, mark.Title)
		}
		return all
	}
	if got := titles(); !slices.Equal(got, want) || m.omitted != keptMarks {
		t.Errorf("%d omitted, kept %q, want %q", m.omitted, got, want)
	}
	other := marks{kept: []Mark{{Time: began, Title: "late"}}, omitted: 3}
	m.absorb(&other)
	if last := m.kept[len(m.kept)-1]; last.Title != "late" || last.Time != began.Add(2*keptMarks-1) || m.omitted != keptMarks+3 || len(other.kept)+other.omitted > 0 {
		t.Errorf("absorbed %+v, %d omitted; left %+v", last, m.omitted, other)
	}
}

// A text is cut between characters.
func TestCut(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("x", maxDetail)
	for text, want := range map[string]string{
		"": "", full: full, full + "x": full + "…", full[1:] + "ü": full[1:] + "…", full[2:] + "ü": full[2:] + "ü", "x" + full[2:] + "ü" + "x": "x" + full[2:] + "…",
		strings.Repeat("\x80", maxDetail+1): "…",
	} {
		if got := cut(text); got != want {
			t.Errorf("%q is cut to %q", text, got)
		}
	}
}

// If an event was lost, the trace has what the state of the task says.
func TestStatesWithoutEvents(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"received", "pending"} {
		b := build(nil, story(t, `
			0s app[0] status pending
			0s app[0]/web `+first+`
			2s app[0]/web running
			5s app[0]/web dead`))
		var kinds []string
		for _, s := range b.Trace(time.Time{}).Rows[0].Spans {
			kinds = append(kinds, fmt.Sprintf("%v %s-%s", s.Kind, s.From.Format("05"), s.To.Format("05")))
		}
		if got := strings.Join(kinds, ", "); got != "setup 00-02, running 02-05" {
			t.Errorf("after %q: spans %s", first, got)
		}
	}
}
