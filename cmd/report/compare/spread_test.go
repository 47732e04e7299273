package compare

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The times of several runs are collected by place, those that are not known are left
// out.
func TestSpreads(t *testing.T) {
	t.Parallel()
	var s Spreads
	if list := s.List(); list != nil {
		t.Errorf("without runs: %v", list)
	}
	run := func(took, started, ended time.Duration) *Run {
		return &Run{Took: took, Allocs: []*Alloc{{Group: "g", Tasks: map[string]*Task{"t": {Started: started, Ended: ended}}}}}
	}
	s.Add(run(10, 2, 5))
	s.Add(run(20, 2, 9))
	s.Add(run(Unknown, 3, Unknown))
	var got []string
	for _, of := range s.List() {
		got = append(got, fmt.Sprint(of.Group, of.Task, " ", of.Name, " ", of.Times))
	}
	if diff := cmp.Diff([]string{" " + inTotal + " [10ns 20ns]", "gt " + running + " [3ns 7ns]"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		times               []time.Duration
		least, median, most time.Duration
	}{
		{[]time.Duration{7}, 7, 7, 7},
		{[]time.Duration{9, 1, 4}, 1, 4, 9},
		{[]time.Duration{9, 1, 4, 6}, 1, 5, 9},
	} {
		s := Spread{Times: slices.Clone(tt.times)}
		if s.Least() != tt.least || s.Median() != tt.median || s.Most() != tt.most || !slices.Equal(s.Times, tt.times) {
			t.Errorf("%v: %v, %v, %v", tt.times, s.Least(), s.Median(), s.Most())
		}
	}
}

// However many runs there are, the latest times are kept, and only so many places.
func TestManySpreads(t *testing.T) {
	t.Parallel()
	var s Spreads
	for i := range maxTimes + 2 {
		s.Add(&Run{Took: time.Duration(i)})
	}
	times := s.List()[0].Times
	if len(times) != maxTimes || times[0] != maxTimes || times[1] != maxTimes+1 || times[2] != 2 {
		t.Errorf("%d times, which begin with %v", len(times), times[:3])
	}
	for i := range maxPlaces {
		s.add(Where{Index: i, Group: "g"}, running, 1)
	}
	s.add(Where{}, inTotal, 77) // a place that is known
	if list := s.List(); len(list) != maxPlaces || list[0].Times[2] != 77 {
		t.Errorf("%d places, times %v", len(list), list[0].Times[:3])
	}
}
