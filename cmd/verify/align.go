package verify

import (
	"strings"

	"taskrun/cmd/report/compare"
)

// Align cuts the outputs of tasks that were stopped on both sides to the same number
// of lines: how much they had written by then says nothing.
func Align(a, b *Played) {
	for i, alloc := range a.Run.Allocs {
		if i >= len(b.Run.Allocs) {
			return
		}
		for name, t := range alloc.Tasks {
			other := b.Run.Allocs[i].Tasks[name]
			if other == nil || !t.Stopped || !other.Stopped {
				continue
			}
			for _, stream := range streams {
				key := compare.Key{Kind: compare.Output, Name: stream}
				one, two := strings.Split(t.Values[key], "\n"), strings.Split(other.Values[key], "\n")
				least := min(len(one), len(two))
				t.Values[key], other.Values[key] = strings.Join(one[:least], "\n"), strings.Join(two[:least], "\n")
			}
		}
	}
}
