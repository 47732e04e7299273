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

// A label is as short as it can be, and exact.
func TestTickLabel(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-1: "0", 0: "0", 1: "1ns", 250 * time.Millisecond: "250ms", 1500 * time.Millisecond: "1.5s", 59 * time.Second: "59s",
		time.Minute: "1m", 150 * time.Second: "2m30s", 10 * time.Minute: "10m", time.Hour: "1h", 90 * time.Minute: "1h30m", time.Hour + time.Second: "1h0m1s",
		23 * time.Hour: "23h", day: "1d", 2*day + 12*time.Hour: "2d12h", 100 * day: "100d",
	} {
		if got := TickLabel(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
