package validate

import (
	"fmt"
	"math"
	"time"

	"github.com/hashicorp/nomad/api"
)

const (
	minRescheduleDelay    = 5 * time.Second
	minRescheduleInterval = 15 * time.Second
)

// reschedule checks the policy for failed allocations.
// https://developer.hashicorp.com/nomad/docs/job-specification/reschedule
func (g *group) reschedule() {
	p, job := g.tg.ReschedulePolicy, orEmpty(g.job.Reschedule)
	if p == nil {
		return
	}
	block := g.merged("reschedule")
	if g.kind == api.JobTypeSystem || g.kind == api.JobTypeSysbatch {
		at := block.group
		if g.job.Reschedule != nil {
			at = block.job
		}
		g.refuse(at, "a "+g.kind+" job does not reschedule", "", "remove the block")
		return
	}
	attempts, unlimited := deref(p.Attempts), deref(p.Unlimited)
	if attempts <= 0 && !unlimited {
		return // disabled, whatever the rest says
	}
	if attempts > 0 && unlimited {
		g.refuse(block.at("attempts", same(p.Attempts, job.Attempts)), "attempts and unlimited exclude each other",
			fmt.Sprintf("attempts is %d and unlimited is true, which is the default of a service", attempts),
			"write unlimited = false, or remove attempts")
	}
	sound := g.rescheduleDelays(p, job, block)
	if unlimited {
		return
	}
	interval := deref(p.Interval)
	if interval < minRescheduleInterval {
		g.refuse(block.at("interval", same(p.Interval, job.Interval)), "reschedule interval is too short",
			fmt.Sprintf("it is %s", plain(interval)), fmt.Sprintf("write %s or more", plain(minRescheduleInterval)))
		return
	}
	if !sound {
		return
	}
	if span, fits := rescheduleSpan(p); !fits {
		g.refuse(block.either("attempts", same(p.Attempts, job.Attempts), "interval", same(p.Interval, job.Interval)),
			"reschedule attempts do not fit their interval",
			fmt.Sprintf("%d attempts with delay %s and delay_function %q take %s; interval is %s",
				attempts, plain(deref(p.Delay)), deref(p.DelayFunction), plain(span), plain(interval)),
			fmt.Sprintf("write an interval above %s, or fewer attempts", plain(span)))
	}
}

// rescheduleDelays reports whether the delays make sense, so that it can be
// asked how long the attempts take.
func (g *group) rescheduleDelays(p, job *api.ReschedulePolicy, block merged) bool {
	delay, ceiling := deref(p.Delay), deref(p.MaxDelay)
	ok := true
	if delay < minRescheduleDelay {
		g.refuse(block.at("delay", same(p.Delay, job.Delay)), "reschedule delay is too short",
			fmt.Sprintf("it is %s", plain(delay)), fmt.Sprintf("write %s or more", plain(minRescheduleDelay)))
		ok = false
	}
	function := deref(p.DelayFunction)
	if !g.choice(block.at("delay_function", same(p.DelayFunction, job.DelayFunction)), "delay function", function, "constant", "exponential", "fibonacci") {
		return false
	}
	if function == "constant" {
		return ok
	}
	at := block.at("max_delay", same(p.MaxDelay, job.MaxDelay))
	switch {
	case ceiling < minRescheduleDelay:
		g.refuse(at, "max_delay is too short", fmt.Sprintf("it is %s", plain(ceiling)), fmt.Sprintf("write %s or more", plain(minRescheduleDelay)))
		ok = false
	case ceiling < delay:
		g.refuse(at, "max_delay is below delay", fmt.Sprintf("max_delay is %s and delay is %s", plain(ceiling), plain(delay)), "raise max_delay or lower delay")
		ok = false
	}
	return ok
}

// rescheduleSpan returns the time that all attempts take by Nomad's reckoning,
// and whether the interval holds it. Delays must be valid.
//
// That reckoning is not the sum of the delays: while the delay grows, the span is
// the last delay alone; from the ceiling on every attempt adds the ceiling.
func rescheduleSpan(p *api.ReschedulePolicy) (span time.Duration, fits bool) {
	attempts, delay, ceiling, interval := deref(p.Attempts), deref(p.Delay), deref(p.MaxDelay), deref(p.Interval)
	switch deref(p.DelayFunction) {
	case "exponential":
		next := delay
		for ; attempts > 0 && next <= ceiling; attempts-- {
			span, next = next, saturate(next, 1, next)
		}
		span = saturate(span, attempts, ceiling)
		return span, span < interval
	case "fibonacci":
		span = delay
		previous := delay
		for attempts -= 2; attempts > 0; attempts-- {
			next := saturate(span, 1, previous)
			if next > ceiling {
				span = saturate(ceiling, attempts-1, ceiling)
				break
			}
			span, previous = next, span
		}
		return span, span <= interval
	default:
		span = saturate(0, attempts, delay)
		return span, span <= interval
	}
}

// saturate returns base + n·step, or the largest duration if that overflows.
func saturate(base time.Duration, n int, step time.Duration) time.Duration {
	if n > 0 && step > (math.MaxInt64-base)/time.Duration(n) {
		return math.MaxInt64
	}
	return base + time.Duration(n)*step
}
