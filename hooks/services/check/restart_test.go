package check_test

import (
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks/services/check"
)

func TestRestart(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	type look struct {
		at        time.Duration
		unhealthy bool
		fire      bool
		again     time.Duration // -1: not before something else happens
	}
	const never = -1
	for name, tt := range map[string]struct {
		limit int
		looks []look
	}{
		"it is given time from the end of the grace": {3, []look{
			{0, true, false, 5 * time.Second},
			{5 * time.Second, true, false, 25 * time.Second},
			{20 * time.Second, true, false, 25 * time.Second},
			{25 * time.Second, true, true, 25 * time.Second},
		}},
		"a limit of one is at once": {1, []look{
			{4 * time.Second, true, false, 5 * time.Second},
			{6 * time.Second, true, true, 6 * time.Second},
		}},
		"a success clears the clock": {2, []look{
			{6 * time.Second, true, false, 16 * time.Second},
			{10 * time.Second, false, false, never},
			{16 * time.Second, true, false, 26 * time.Second},
			{26 * time.Second, true, true, 26 * time.Second},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			grace := 5 * time.Second
			watch, ok := check.NewRestart(&api.ServiceCheck{
				Interval: 10 * time.Second, CheckRestart: &api.CheckRestart{Limit: tt.limit, Grace: &grace},
			}, begin)
			if !ok {
				t.Fatal("there is no watch")
			}
			for _, l := range tt.looks {
				var fire bool
				var again time.Time
				watch, fire, again = watch.Step(l.unhealthy, begin.Add(l.at))
				want := begin.Add(l.again)
				if l.again == never {
					want = time.Time{}
				}
				if fire != l.fire || !again.Equal(want) {
					t.Errorf("after %v: fire %v, again %v, want %v, %v", l.at, fire, again, l.fire, want)
				}
			}
		})
	}
	for name, c := range map[string]*api.CheckRestart{"none": nil, "limit 0": {}} {
		if _, ok := check.NewRestart(&api.ServiceCheck{CheckRestart: c}, begin); ok {
			t.Errorf("%s is watched", name)
		}
	}
}
