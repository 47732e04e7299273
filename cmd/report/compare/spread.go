package compare

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Spread is how long something took in several runs. Without times, it has not
// ended in any of them.
type Spread struct {
	Where
	Name  string // "until it started", "until it ended" or "of the run"
	Times []time.Duration
}

// Least returns the shortest time. Like Median and Most it needs at least one.
func (s Spread) Least() time.Duration { return slices.Min(s.Times) }

// Most returns the longest time.
func (s Spread) Most() time.Duration { return slices.Max(s.Times) }

// Median returns the middle of the times, or the mean of the two in the middle.
func (s Spread) Median() time.Duration {
	sorted := slices.Sorted(slices.Values(s.Times))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Limits of Spreads, however many runs there are.
const (
	maxTimes  = 10_000 // of a task; later ones replace the earliest
	maxPlaces = 10_000
)

// Spreads collect the durations of runs. The zero value is ready.
type Spreads struct {
	by   map[spreadKey]*Spread
	seen map[spreadKey]int
}

type spreadKey struct {
	Where
	name string
}

// Add adds the durations of a run.
func (s *Spreads) Add(r *Run) {
	if s.by == nil {
		s.by, s.seen = map[spreadKey]*Spread{}, map[spreadKey]int{}
	}
	s.add(Where{}, inTotal, r.Took)
	for w, p := range places(r, jobs(r) <= 1) {
		if p.task != nil {
			s.add(w, running, since(p.task.Started, p.task.Ended))
		}
	}
}

func (s *Spreads) add(w Where, name string, took time.Duration) {
	key := spreadKey{w, name}
	of := s.by[key]
	if took < 0 || of == nil && len(s.by) == maxPlaces {
		return
	}
	if of == nil {
		of = &Spread{Where: w, Name: name}
		s.by[key] = of
	}
	if len(of.Times) < maxTimes {
		of.Times = append(of.Times, took)
	} else {
		of.Times[s.seen[key]%maxTimes] = took
	}
	s.seen[key]++
}

// List returns the spreads in the order of jobs, groups, allocations and tasks.
func (s *Spreads) List() (list []Spread) {
	for _, of := range s.by {
		list = append(list, *of)
	}
	slices.SortFunc(list, func(a, b Spread) int {
		return cmp.Or(a.compare(b.Where), strings.Compare(a.Name, b.Name))
	})
	return list
}
