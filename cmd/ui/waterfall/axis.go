package waterfall

import (
	"strings"
	"time"

	"taskrun/cmd/report/trace"
)

// axis returns the headings, and a scale of time over the bars.
func (p *picture) axis() string {
	total := p.End.Sub(p.from)
	scale := []byte(strings.Repeat(" ", p.bar))
	tick := "╷"
	if p.ASCII {
		tick = "|"
	}
	var ticks []int
	if total > 0 {
		for _, at := range trace.Ticks(total, p.fits) {
			c := int(float64(at) / float64(total) * float64(p.bar))
			label := trace.TickLabel(at)
			if p.from.After(p.Begin) {
				label = "-" + trace.TickLabel(total-at)
			}
			if c+1+len(label) > p.bar {
				break
			}
			copy(scale[c+1:], label)
			ticks = append(ticks, c)
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

// fits reports whether the labels of ticks at some distance have room.
func (p *picture) fits(step time.Duration) bool {
	total := p.End.Sub(p.from)
	last := total / step * step
	widest := max(len(trace.TickLabel(last)), len(trace.TickLabel(last-step)))
	return float64(step)/float64(total)*float64(p.bar) >= float64(widest+4)
}
