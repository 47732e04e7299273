package play

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/jobtest"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// outcome returns how the run stands now.
func (r *round) outcome(seed uint64) *jobtest.Outcome {
	r.take()
	events := event.Canonical(r.events)
	run := fold.New([]*api.Job{r.job.Job})
	for i := range events {
		events[i].Time = events[i].Time.Round(resolution)
		r.apply(run, events[i])
	}
	o := &jobtest.Outcome{
		Seed: seed, Began: r.began, Elapsed: time.Since(r.began).Round(resolution), Unfinished: r.unfinished,
		Status: r.status(), ExitCode: r.verdict.Code(), Cause: r.verdict.Cause.Text,
		Events: events, State: run, Tasks: map[jobtest.TaskKey]*jobtest.TaskOutcome{}, Execs: map[string]*jobtest.ExecOutcome{},
		Notices: r.notices, ReadFile: filesOf(r.engine.Allocs()).read,
	}
	for key, env := range r.witness.environments() {
		o.Tasks[key] = &jobtest.TaskOutcome{Env: env.Map()}
	}
	for key, out := range r.output {
		if o.Tasks[key] == nil {
			o.Tasks[key] = &jobtest.TaskOutcome{}
		}
		o.Tasks[key].Stdout, o.Tasks[key].Stderr = out[event.Stdout].text(), out[event.Stderr].text()
	}
	return o
}

// status is that of the job, in the words of a summary, or running.
func (r *round) status() string {
	id := *r.job.Job.ID
	status := r.verdict.Run.Status(id, r.verdict.Cause.User)
	if status == "complete" && !r.ended() {
		return "running"
	}
	return status
}
