package services

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"taskrun/hooks/services/check"
)

// lookTime is how long after a restart an unhealthy check can cause another
// one, as in Nomad, whose client looks at its checks every second.
const lookTime = time.Second

// observer probes one check again and again.
type observer struct {
	site  *site
	key   checkKey
	check *check.Check

	// Of observe alone.
	last   check.Result
	told   string // output that was published last
	seen   string // by the latest probe
	streak int    // how many probes in a row saw that
}

// report tells what the check says.
func (o *observer) report(r check.Result) {
	o.last = r
	if o.site.found(o.key, o.check, r) {
		o.told = r.Output
	}
}

// conclude publishes why the check fails at its end, if that has changed.
func (o *observer) conclude() {
	if o.last.Status == check.Failure && o.last.Output != o.told {
		o.told = o.last.Output
		o.site.publish(time.Now(), o.check, o.last)
	}
}

// observe probes until ctx ends: first after half an interval, scripts at
// once, then an interval after the end of each probe.
func (o *observer) observe(ctx context.Context) {
	first := o.check.Interval / 2
	if o.check.Type == "script" {
		first = 0
	}
	probe := time.NewTimer(first)
	defer probe.Stop()
	look := time.NewTimer(0) // at the restart watch
	defer look.Stop()
	watch, watching := check.NewRestart(&o.check.ServiceCheck, time.Now())
	var restarting sync.WaitGroup
	defer restarting.Wait()
	restarted := make(chan struct{}, 1)
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		case <-restarted: // another watch begins
			watch, watching = check.NewRestart(&o.check.ServiceCheck, time.Now())
			look.Reset(lookTime)
			continue
		case <-probe.C:
			r := o.site.probe(ctx, o.check)
			if ctx.Err() != nil {
				return
			}
			o.take(r)
			probe.Reset(o.check.Interval)
		}
		if !watching {
			continue
		}
		var fire bool
		var again time.Time
		watch, fire, again = watch.Step(o.unhealthy(), time.Now())
		look.Stop()
		if fire {
			watching = false // one restart at a time
			restarting.Go(func() {
				o.restart(ctx)
				restarted <- struct{}{}
			})
		} else if !again.IsZero() {
			look.Reset(time.Until(again))
		}
	}
}

// take adds the result of a probe. Checks of Consul may need several equal results
// in a row before they change their status, or warn before they fail.
func (o *observer) take(r check.Result) {
	if r.Status != o.seen {
		o.seen, o.streak = r.Status, 0
	}
	o.streak++
	warnAt := cmp.Or(o.check.FailuresBeforeWarning, o.check.FailuresBeforeCritical)
	switch {
	case r.Status == check.Success:
		if o.streak < o.check.SuccessBeforePassing {
			return
		}
	case o.streak < min(warnAt, o.check.FailuresBeforeCritical):
		return
	case o.streak < o.check.FailuresBeforeCritical:
		r.Warning = true
	}
	o.report(r)
}

// unhealthy reports whether the check counts against its task. One that has
// not run yet does not, though it does in Nomad.
func (o *observer) unhealthy() bool {
	if o.last.Warning && o.check.CheckRestart.IgnoreWarnings {
		return false
	}
	return o.last.Status == check.Failure
}

// restart restarts the task of the check or, for a check of the group, all tasks.
// It ignores an error: a restart may be in progress already, or the task may just
// have ended.
func (o *observer) restart(ctx context.Context) {
	_ = o.site.info.Restart(ctx, o.key.task, fmt.Sprintf("healthcheck: check %q unhealthy", o.check.Name))
}
