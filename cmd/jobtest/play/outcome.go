package play

import (
	"io"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/jobtest"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// output is the end of what a task has written.
type output [2]tail // by stream

func (r *round) outputOf(e event.Event) *output {
	key := jobtest.TaskKey{Alloc: e.Alloc.ID, Task: e.Task}
	if r.output[key] == nil {
		r.output[key] = &output{}
	}
	return r.output[key]
}

// add adds a piece, which can be read until the next event. What was overwritten is
// lost.
func (o *output) add(piece event.Output) {
	skip := max(0, piece.Length-maxOutput)
	text := io.NewSectionReader(piece.Source, piece.Offset+skip, piece.Length-skip)
	_, _ = io.Copy(&o[piece.Stream], text)
}

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
