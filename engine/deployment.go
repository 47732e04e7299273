package engine

import (
	"time"

	"taskrun/engine/event"
	"taskrun/engine/health"
)

// verdict is the health of one allocation.
type verdict struct {
	group    string
	health   health.Verdict
	replaced bool // another one will run in its place
}

// report hands a verdict to the job's deployment.
func (r *jobRun) report(v verdict) {
	select {
	case r.verdicts <- v:
	case <-r.over:
	}
}

// deploy follows the deployment of the job, if it has one, until the job is
// over.
func (r *jobRun) deploy() {
	d := health.NewDeployment(r.job, time.Now())
	if d == nil {
		return
	}
	stopping := r.engine.stopping.Done()
	status := ""
	for {
		again := d.Tick(time.Now())
		if d.Status != status {
			status = d.Status
			r.engine.bus.Publish(nil, "", event.Deployment{Job: *r.job.ID, Status: status, Description: d.Description})
		}
		var tick <-chan time.Time
		if !again.IsZero() {
			tick = time.After(time.Until(again))
		}
		select {
		case v := <-r.verdicts:
			d.Report(v.group, v.health, v.replaced, time.Now())
		case <-tick:
		case <-stopping:
			stopping = nil
			d.Cancel()
		case <-r.over:
			return
		}
	}
}
