// Package health decides whether an allocation of a service is healthy. It is
// pure: time is an argument.
//
// The rules are those of Nomad's update block,
// https://developer.hashicorp.com/nomad/docs/job-specification/update.
package health

import (
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/lifecycle"
)

// Policy is how health is measured.
type Policy struct {
	MinHealthyTime  time.Duration // all tasks must have run, and checks passed, for that long
	HealthyDeadline time.Duration // since the start of the watch
	Checks          bool          // checks of services count
}

// PolicyOf reads the policy of a canonicalized group. It returns false if the
// group's health is not watched: its job ends by itself, has no deployments, or
// leaves the verdict to the user.
func PolicyOf(jobType string, g *api.TaskGroup) (p Policy, ok bool) {
	u := g.Update
	if jobType != api.JobTypeService && jobType != api.JobTypeSystem || u == nil || *u.MaxParallel == 0 ||
		*u.HealthCheck == "manual" {
		return Policy{}, false
	}
	return Policy{
		MinHealthyTime:  *u.MinHealthyTime,
		HealthyDeadline: *u.HealthyDeadline,
		Checks:          *u.HealthCheck == "checks",
	}, true
}

// Task is the state of a task that the rules use.
type Task struct {
	Name     string
	Stage    lifecycle.Stage
	Phase    lifecycle.Phase
	Failed   bool
	Started  time.Time // latest start
	Finished bool
}

// Verdict is the health of an allocation.
type Verdict uint8

// The verdicts. All but Unknown are final.
const (
	Unknown Verdict = iota
	Healthy
	Unhealthy
)

// String returns the verdict in a word.
func (v Verdict) String() string { return [...]string{"unknown", "healthy", "unhealthy"}[v] }

// Watch follows an allocation until the verdict. Create it with Begin.
type Watch struct {
	Policy   Policy
	Deadline time.Time

	Started time.Time // latest start of any task
	Tasks   time.Time // since when all tasks are running; zero if they are not
	Checks  time.Time // since when all checks pass; zero if they do not
	Ended   int       // number of poststart tasks that ended successfully
}

// Begin starts a watch.
func Begin(p Policy, now time.Time) Watch {
	return Watch{Policy: p, Deadline: now.Add(p.HealthyDeadline)}
}

// Step returns the watch after the current state of tasks and checks, the
// verdict and, while that is Unknown, the latest time for the next call.
// Passing says that every check passes; it is true if there are none.
func (w Watch) Step(tasks []Task, passing bool, now time.Time) (next Watch, v Verdict, again time.Time) {
	all, latest, ended := true, time.Time{}, 0
	for _, t := range tasks {
		switch {
		case t.Stage == lifecycle.Poststop:
		case t.Stage == lifecycle.PoststartEphemeral && t.Phase == lifecycle.Dead && !t.Failed:
			ended++
		case t.Failed, t.Finished && t.Stage != lifecycle.PrestartEphemeral:
			return w, Unhealthy, time.Time{}
		case t.Phase == lifecycle.Pending:
			all = false
		case t.Started.After(latest):
			latest = t.Started
		}
	}
	if ended < w.Ended { // for Nomad, a task that is started again stays finished
		return w, Unhealthy, time.Time{}
	}
	w.Ended = ended
	switch {
	case !all:
		w.Tasks = time.Time{}
	case w.Tasks.IsZero(), !latest.Equal(w.Started):
		w.Tasks = now
	}
	w.Started = latest
	switch {
	case !passing:
		w.Checks = time.Time{}
	case w.Checks.IsZero():
		w.Checks = now
	}

	again = w.Deadline
	if good := w.goodAt(); !good.IsZero() {
		if !now.Before(good) {
			return w, Healthy, time.Time{}
		}
		if good.Before(again) {
			again = good
		}
	}
	if !now.Before(w.Deadline) {
		return w, Unhealthy, time.Time{}
	}
	return w, Unknown, again
}

// goodAt returns when the allocation will be healthy if nothing changes, or
// zero for never.
func (w Watch) goodAt() time.Time {
	if w.Tasks.IsZero() || w.Checks.IsZero() && w.Policy.Checks {
		return time.Time{}
	}
	since := w.Tasks
	if w.Policy.Checks && w.Checks.After(since) {
		since = w.Checks
	}
	return since.Add(w.Policy.MinHealthyTime)
}

// Blame returns Nomad's message about each task, by name, after an Unhealthy
// verdict. It blames every task that is not dead, even one that ran long enough
// while checks failed.
func (w Watch) Blame(tasks []Task) map[string]string {
	blamed := map[string]string{}
	for _, t := range tasks {
		switch {
		case t.Failed:
			blamed[t.Name] = "Unhealthy because of failed task"
		case t.Phase == lifecycle.Pending:
			blamed[t.Name] = fmt.Sprintf("Task not running by healthy_deadline of %v", w.Policy.HealthyDeadline)
		case t.Phase == lifecycle.Dead && (t.Stage == lifecycle.Main || t.Stage.Sidecar()):
			blamed[t.Name] = "Unhealthy because of dead task"
		case t.Phase == lifecycle.Running:
			blamed[t.Name] = fmt.Sprintf("Task not running for min_healthy_time of %v by healthy_deadline of %v",
				w.Policy.MinHealthyTime, w.Policy.HealthyDeadline)
		}
	}
	return blamed
}
