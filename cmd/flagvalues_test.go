package cmd

import (
	"testing"
	"time"
)

// A time in the past is given as such, or as how long ago it was.
func TestPastTime(t *testing.T) {
	t.Parallel()
	for text, ago := range map[string]time.Duration{"0s": 0, "5m": 5 * time.Minute, "1h30m": 90 * time.Minute, "20ms": 20 * time.Millisecond} {
		var at time.Time
		before := time.Now()
		err := pastTime{&at}.Set(text)
		if err != nil || at.Before(before.Add(-ago)) || at.After(time.Now().Add(-ago)) {
			t.Errorf("%s: %v, %v", text, at, err)
		}
	}
	for text, want := range map[string]time.Time{
		"2024-02-03T04:05:06Z":          time.Date(2024, 2, 3, 4, 5, 6, 0, time.UTC),
		"2024-02-03T04:05:06.789+02:00": time.Date(2024, 2, 3, 2, 5, 6, 789e6, time.UTC),
	} {
		var at time.Time
		p := pastTime{&at}
		if err := p.Set(text); err != nil || !at.Equal(want) {
			t.Errorf("%s: %v, %v", text, at, err)
		}
		again := time.Time{}
		if err := (pastTime{&again}).Set(p.String()); err != nil || !again.Equal(want) {
			t.Errorf("%s was set as %s: %v", text, p, err)
		}
	}
	for _, text := range []string{"", "5", "yesterday", "2024-02-03", "04:05", "-5m", "2999-01-01T00:00:00Z"} {
		var at time.Time
		if err := (pastTime{&at}).Set(text); err == nil || !at.IsZero() {
			t.Errorf("%q: %v, %v", text, at, err)
		}
	}
	if got := (pastTime{}).String() + (pastTime{new(time.Time)}).String(); got != "" {
		t.Errorf("nothing is set: %q", got)
	}
}
