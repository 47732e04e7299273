package trace

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"taskrun/engine/fold"
)

// Limits of marks: when there are twice as many as keptMarks, those of the middle that
// weigh least are dropped.
const (
	keptMarks = 96
	maxDetail = 400 // bytes
	maxChecks = 100 // of an allocation; the others are not told apart
)

// marks are the marks of a row or of a run, in order of time.
type marks struct {
	kept    []Mark
	omitted int
}

func (m *marks) add(mark Mark) {
	mark.Title, mark.Detail = cut(mark.Title), cut(mark.Detail)
	if n := len(m.kept); n > 0 {
		mark.Time = later(m.kept[n-1].Time, mark.Time)
	}
	if m.kept = append(m.kept, mark); len(m.kept) == 2*keptMarks {
		m.drop()
	}
}

// absorb adds all marks of later ones, which are empty then.
func (m *marks) absorb(later *marks) {
	for _, mark := range later.kept {
		m.add(mark)
	}
	m.omitted += later.omitted
	*later = marks{}
}

// cut limits a text, which may come from anyone.
func cut(text string) string {
	if len(text) <= maxDetail {
		return text
	}
	n := maxDetail
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.Clone(text[:n]) + "…"
}

// drop drops marks of the middle: the first and the last ones stay, and of the others
// first those that weigh most.
func (m *marks) drop() {
	const ends = keptMarks / 4
	keep := make([]bool, len(m.kept))
	room := keptMarks - 2*ends
	for weight := fold.Trouble; weight >= fold.Ordinary; weight-- {
		for i, mark := range m.kept {
			switch middle := i >= ends && i < len(m.kept)-ends; {
			case !middle:
				keep[i] = true
			case mark.Weight == weight && room > 0:
				keep[i] = true
				room--
			}
		}
	}
	kept := m.kept[:0]
	for i, mark := range m.kept {
		if keep[i] {
			kept = append(kept, mark)
		}
	}
	m.omitted += len(m.kept) - len(kept)
	clear(m.kept[len(kept):]) // their texts
	m.kept = kept
}

func (m *marks) list() []Mark { return slices.Clone(m.kept) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
