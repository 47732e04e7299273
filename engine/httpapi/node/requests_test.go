package node

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// Requests are summed up by interval: the last interval with any is shown.
func TestIntervals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var q Requests
		took := func(ms ...int) {
			for _, ms := range ms {
				q.Ended("GET", "/", time.Now().Add(-time.Duration(ms)*time.Millisecond))
			}
		}
		check := func(when string, want durations) {
			t.Helper()
			got := q.recent()
			if got.n != want.n || math.Abs(got.sum-want.sum) > 1e-9 || got.min != want.min || got.max != want.max {
				t.Errorf("%s: %+v, want %+v", when, got, want)
			}
		}
		check("at first", durations{})
		took(1, 3, 5)
		check("in the first interval", durations{n: 3, sum: 9, min: 1, max: 5})
		if d := q.recent(); d.mean() != 3 || math.Abs(d.deviation()-2) > 1e-9 {
			t.Errorf("mean %v, deviation %v", d.mean(), d.deviation())
		}
		<-time.After(interval)
		took(7)
		check("in the second one", durations{n: 3, sum: 9, min: 1, max: 5})
		<-time.After(interval)
		check("in the third one", durations{n: 1, sum: 7, min: 7, max: 7})
		<-time.After(2 * interval)
		check("long after", durations{})
		if n, seconds := q.sum(); n != 4 || math.Abs(seconds-0.016) > 1e-9 {
			t.Errorf("%d requests took %v s", n, seconds)
		}
	})
}
