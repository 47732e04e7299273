package verify

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// settleTime limits how long a failure may take to have its consequences.
const settleTime = 5 * time.Second

// patient is a verdict that lets a failure have its consequences before it stops the
// job: the sides take different times for them.
type patient struct {
	*verdict.Verdict
	stop  verdict.Decision // that is held back
	until time.Time        // zero: none is
}

// Observe handles an event.
func (p *patient) Observe(e event.Event) verdict.Decision {
	failed, ok := e.Body.(event.AllocStatus)
	switch d := p.Verdict.Observe(e); {
	case d.Action == verdict.Stop && ok && failed.Status == api.AllocClientStatusFailed && !p.settled():
		p.stop, p.until = d, time.Now().Add(settleTime)
	case p.until.IsZero() || d.Action > verdict.Stop:
		return d
	case p.settled():
		return p.release()
	}
	return verdict.Decision{}
}

// Due returns when a decision is due that depends on nothing but time.
func (p *patient) Due() (at time.Time, ok bool) {
	if !p.until.IsZero() {
		return p.until, true
	}
	return p.Verdict.Due()
}

// Tick handles that time has passed.
func (p *patient) Tick(now time.Time) verdict.Decision {
	if p.until.IsZero() {
		return p.Verdict.Tick(now)
	}
	if now.Before(p.until) {
		return verdict.Decision{}
	}
	return p.release()
}

func (p *patient) release() verdict.Decision {
	p.until = time.Time{}
	return p.stop
}

// settled reports whether a failure has no further consequences: the other tasks of
// the allocation have ended, and so has the deployment.
func (p *patient) settled() bool {
	for _, d := range p.Run.Deployments {
		if d.Status == api.DeploymentStatusRunning {
			return false
		}
	}
	for _, a := range p.Run.Allocs {
		if a.Status != api.AllocClientStatusFailed {
			continue
		}
		for _, t := range a.Tasks {
			if t.State == "running" {
				return false
			}
		}
	}
	return true
}
