package validate

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

const minRestartInterval = 5 * time.Second

// taskRestart checks a policy that the task does not inherit. Nomad does not
// validate these, so errors become warnings.
func (t *task) taskRestart() {
	own, inherited := t.t.RestartPolicy, t.g.tg.RestartPolicy
	if own != nil && !sameRestart(own, inherited) {
		t.restart(own, t.at.Attr("restart"), jobspec.Warning)
	}
}

func (c *checker) restart(p *api.RestartPolicy, at jobspec.Path, severity jobspec.Severity) {
	mode, attempts := deref(p.Mode), deref(p.Attempts)
	interval, delay := deref(p.Interval), deref(p.Delay)
	modes := []string{api.RestartPolicyModeFail, api.RestartPolicyModeDelay}
	switch mode {
	case api.RestartPolicyModeFail:
	case api.RestartPolicyModeDelay:
		if attempts == 0 {
			c.say(severity, at.Attr("attempts"), `0 attempts with mode "delay" is ambiguous`, "", `write mode = "fail" to never restart, or 1 or more attempts`)
		}
	default:
		c.alone(severity, at.Attr("mode"), "unknown restart mode", fmt.Sprintf("%q", mode), cmp.Or(diagnostic.DidYouMean(mode, modes), "write one of fail, delay"))
	}
	if attempts < 0 {
		c.alone(jobspec.Warning, at.Attr("attempts"), "attempts is negative", fmt.Sprintf("it is %d", attempts), "Nomad takes it for 0; write 0 or more")
	}
	c.tooShort(severity, at.Attr("interval"), "restart interval", interval, minRestartInterval)
	// Division instead of multiplication: the product may overflow.
	if delay > 0 && attempts > 0 && time.Duration(attempts) > interval/delay {
		c.say(severity, at, "restarts do not fit their interval",
			fmt.Sprintf("%d attempts, %s apart, take longer than %s", attempts, plain(delay), plain(interval)),
			"raise interval, or lower attempts or delay")
	}
}

func sameRestart(a, b *api.RestartPolicy) bool {
	return a == b || b != nil && same(a.Mode, b.Mode) && same(a.Attempts, b.Attempts) &&
		same(a.Interval, b.Interval) && same(a.Delay, b.Delay)
}

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
		g.refuse(block.whole(g.job.Reschedule != nil), "a "+g.kind+" job does not reschedule", "", "remove the block")
		return
	}
	attempts, unlimited := deref(p.Attempts), deref(p.Unlimited)
	if attempts <= 0 && !unlimited {
		return // disabled, regardless of other settings
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
	if g.tooShort(jobspec.Error, block.at("interval", same(p.Interval, job.Interval)), "reschedule interval", interval, minRescheduleInterval) || !sound {
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

// rescheduleDelays reports whether the delays are valid, so that rescheduleSpan
// can be called.
func (g *group) rescheduleDelays(p, job *api.ReschedulePolicy, block merged) bool {
	delay, ceiling := deref(p.Delay), deref(p.MaxDelay)
	ok := !g.tooShort(jobspec.Error, block.at("delay", same(p.Delay, job.Delay)), "reschedule delay", delay, minRescheduleDelay)
	function := deref(p.DelayFunction)
	if !g.choice(block.at("delay_function", same(p.DelayFunction, job.DelayFunction)), "delay function", function, "constant", "exponential", "fibonacci") {
		return false
	}
	if function == "constant" {
		return ok
	}
	at := block.at("max_delay", same(p.MaxDelay, job.MaxDelay))
	switch {
	case g.tooShort(jobspec.Error, at, "max_delay", ceiling, minRescheduleDelay):
		return false
	case ceiling < delay:
		g.refuse(at, "max_delay is below delay", fmt.Sprintf("max_delay is %s and delay is %s", plain(ceiling), plain(delay)), "raise max_delay or lower delay")
		return false
	}
	return ok
}

// rescheduleSpan returns the time that all attempts take by Nomad's rules, and
// whether it fits into the interval. The delays must be valid.
//
// Nomad does not sum up the delays: while the delay grows, the span is the last
// delay alone; once it has reached the maximum, every attempt adds the maximum.
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

// saturate returns base + n·step, or the maximum duration if that overflows.
func saturate(base time.Duration, n int, step time.Duration) time.Duration {
	if n > 0 && step > (math.MaxInt64-base)/time.Duration(n) {
		return math.MaxInt64
	}
	return base + time.Duration(n)*step
}
