package trace

import (
	"fmt"
	"strings"
	"time"
)

const day = 24 * time.Hour

// steps returns the round distances of ticks, in order.
func steps() (all []time.Duration) {
	for unit := time.Nanosecond; unit < time.Second; unit *= 10 {
		all = append(all, unit, 2*unit, 5*unit)
	}
	for _, unit := range []time.Duration{time.Second, time.Minute} {
		for _, n := range []time.Duration{1, 2, 5, 10, 15, 30} {
			all = append(all, n*unit)
		}
	}
	for _, n := range []time.Duration{1, 2, 3, 6, 12} {
		all = append(all, n*time.Hour)
	}
	for unit := day; unit < 1e5*day; unit *= 10 {
		all = append(all, unit, 2*unit, 5*unit)
	}
	return all
}

// Ticks returns the ticks of an axis of some length: the multiples, from 0 on, of the
// smallest round distance that fits, or else of the largest one.
func Ticks(length time.Duration, fits func(step time.Duration) bool) []time.Duration {
	var step time.Duration
	for _, step = range steps() {
		if fits(step) {
			break
		}
	}
	var ticks []time.Duration
	for n := range length/step + 1 { // a sum might be longer than the longest duration
		ticks = append(ticks, n*step)
	}
	return ticks
}

// TickLabel formats the time of a tick: 0, 250ms, 1.5s, 2m30s, 1h30m, 2d12h.
func TickLabel(d time.Duration) string {
	switch {
	case d <= 0:
		return "0"
	case d >= day:
		text := fmt.Sprintf("%dd", d/day)
		if h := d % day / time.Hour; h > 0 {
			text += fmt.Sprintf("%dh", h)
		}
		return text
	case d >= time.Minute:
		text := d.String()
		if strings.HasSuffix(text, "m0s") {
			text = strings.TrimSuffix(text, "0s")
		}
		if strings.HasSuffix(text, "h0m") {
			text = strings.TrimSuffix(text, "0m")
		}
		return text
	}
	return d.String()
}
