package engine

import (
	"time"

	"taskrun/engine/event"
	"taskrun/engine/health"
	"taskrun/engine/store"
)

// verdict is the health of one allocation.
type verdict struct {
	group    string
	alloc    string // ID
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
	d := deploymentRecord{event.NewID(), health.NewDeployment(r.job, time.Now())}
	if d.Deployment == nil {
		r.ignoreVerdicts()
		return
	}
	status := ""
	if r.recorder.Durable() {
		known, err := r.recorder.Get(r.deploymentKey(), &d)
		switch {
		case err != nil:
			r.notice("job %q: %v", *r.job.ID, err)
		case known:
			status = d.Status
		}
	}
	stopping := r.stopping.Done()
	for {
		again := d.Tick(time.Now())
		r.tell(d, d.Status != status)
		status = d.Status
		var tick <-chan time.Time
		if !again.IsZero() {
			tick = time.After(time.Until(again))
		}
		select {
		case v := <-r.verdicts:
			d.Report(v.group, v.alloc, v.health, v.replaced, time.Now())
		case <-tick:
		case <-stopping:
			stopping = nil
			d.Cancel()
		case <-r.over:
			return
		}
	}
}

// ignoreVerdicts is for a job without a deployment, of which a later version
// may have verdicts all the same.
func (r *jobRun) ignoreVerdicts() {
	for {
		select {
		case <-r.verdicts:
		case <-r.over:
			return
		}
	}
}

func (r *jobRun) deploymentKey() store.Key { return store.KeyOf(deploymentKey, *r.job.ID) }

// tell stores a deployment and, if its status is new, tells of that.
func (r *jobRun) tell(d deploymentRecord, isNew bool) {
	var c store.Change
	c.Put(r.deploymentKey(), d)
	if isNew {
		c.Add(event.Event{Time: time.Now(), Body: event.Deployment{
			ID: d.ID, Job: *r.job.ID, Status: d.Status, Description: d.Description,
		}})
	}
	r.recorder.Commit(c)
}
