package trace

import (
	"testing"
	"time"
)

func TestTicks(t *testing.T) {
	t.Parallel()
	for length, want := range map[time.Duration]time.Duration{
		0: time.Nanosecond, 7 * time.Millisecond: time.Millisecond, 9 * time.Second: time.Second,
		11 * time.Minute: 2 * time.Minute, 400 * day: 50 * day, 1<<63 - 1: 20_000 * day,
	} {
		var step time.Duration
		ticks := Ticks(length, func(s time.Duration) bool { step = s; return length/s < 10 })
		if step != want || len(ticks) != int(length/want)+1 || ticks[0] != 0 || length > 0 && ticks[1] != want {
			t.Errorf("ticks of %v: %v, want those at each %v", length, ticks, want)
		}
	}
	if ticks := Ticks(1<<63-1, func(time.Duration) bool { return false }); len(ticks) != 3 {
		t.Errorf("nothing fits: %v", ticks)
	}
}
