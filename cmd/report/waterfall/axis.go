package waterfall

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

// axis returns the headings, and a scale of time over the bars.
func (p *picture) axis() string {
	total := p.End.Sub(p.Begin)
	scale := []byte(strings.Repeat(" ", p.bar))
	tick := "╷"
	if p.ASCII {
		tick = "|"
	}
	var ticks []int
	if total > 0 {
		step := p.step(total)
		for at := time.Duration(0); at <= total; at += step {
			c := int(float64(at) / float64(total) * float64(p.bar))
			label := label(at)
			if c+1+len(label) > p.bar {
				break
			}
			copy(scale[c+1:], label)
			ticks = append(ticks, c)
			if at > total-step { // it may be the longest duration that there is
				break
			}
		}
	}
	var b strings.Builder
	done := 0
	for _, c := range ticks {
		b.Write(scale[done:c])
		b.WriteString(tick)
		done = c + 1
	}
	b.Write(scale[done:])
	result := resultHead
	if p.result == 0 {
		result = ""
	}
	return p.Style.Strong(p.line(nameHead, plain, b.String(), tookHead, result, plain))
}

func plain(text string) string { return text }

// step returns the smallest round distance of ticks whose labels have room.
func (p *picture) step(total time.Duration) time.Duration {
	all := steps()
	for _, step := range all {
		last := total / step * step
		widest := max(len(label(last)), len(label(last-step)))
		if columns := float64(step) / float64(total) * float64(p.bar); columns >= float64(widest+4) {
			return step
		}
	}
	return all[len(all)-1]
}

// label formats the time of a tick: 0, 250ms, 1.5s, 2m30s, 1h30m, 2d12h.
func label(d time.Duration) string {
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
