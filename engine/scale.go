package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/update"
)

// ScaleError is Nomad's message about an invalid order to scale a job.
type ScaleError string

func (e ScaleError) Error() string { return string(e) }

func badScale(format string, args ...any) error { return ScaleError(fmt.Sprintf(format, args...)) }

// Scaling is an order to scale a group of a job.
type Scaling struct {
	Group   string
	Count   *int64 // nil: only record the event
	Message string
	Error   bool // record the event as an error, and do nothing else
	Meta    map[string]any
}

// checkScaling refuses an order that does not suit the job, in Nomad's order.
func checkScaling(job *api.Job, g *api.TaskGroup, d *deploymentRecord, order Scaling) error {
	count := order.Count
	switch {
	case count != nil && *count < 0:
		return badScale("scaling action count can't be negative")
	case count != nil && order.Error:
		return badScale("scaling action should not contain count if error is true")
	case count != nil && *count > 1 && *job.Type == api.JobTypeSystem:
		return badScale("jobs of type %q can only be scaled between 0 and 1", *job.Type)
	case g == nil:
		return badScale("task group %q specified for scaling does not exist in job", order.Group)
	case count == nil:
		return nil
	}
	if p := g.Scaling; p != nil {
		switch {
		case p.Min != nil && *count < *p.Min:
			return badScale("group count was less than scaling policy minimum: %d < %d", *count, *p.Min)
		case p.Max != nil && *count > *p.Max:
			return badScale("group count was greater than scaling policy maximum: %d > %d", *count, *p.Max)
		}
	}
	if d != nil && d.Active() {
		return badScale("job scaling blocked due to active deployment")
	}
	return nil
}

// Scale changes the count of a group, which makes a new version of the job. The
// plan is nil if the order only records an event. Scale returns a ScaleError or
// an error of Register.
func (j JobHandle) Scale(order Scaling) (*update.Plan, error) {
	return withJob(j.engine, j.key, func(r *jobRun) (*update.Plan, error) {
		job := r.newest.Load()
		g := job.LookupTaskGroup(order.Group)
		if err := checkScaling(job, g, r.deployment(), order); err != nil {
			return nil, err
		}
		noted := api.ScalingEvent{
			Count: order.Count, PreviousCount: int64(*g.Count), Error: order.Error, Message: order.Message, Meta: order.Meta,
			Time: uint64(time.Now().UnixNano()), //nolint:gosec // after 1970
		}
		if order.Count == nil || order.Error {
			r.note(order.Group, noted)
			return nil, nil
		}
		next, group := *job, *g
		group.Count = new(int(*order.Count))
		next.TaskGroups = slices.Clone(job.TaskGroups)
		next.TaskGroups[slices.Index(job.TaskGroups, g)] = &group
		if err := r.host.checkSize(&next, job); err != nil {
			return nil, badScale("%v", err)
		}
		plan, err := r.update(&next, registration{trigger: event.JobScaling, derived: true, submission: r.submission(*job.Version)})
		if err != nil {
			return nil, err
		}
		if evaluation := r.evaluation(); evaluation != "" {
			noted.EvalID = &evaluation
		}
		r.note(order.Group, noted)
		return plan, nil
	})
}

// Scalings returns the kept scaling events of a job, by group, newest first.
func (j JobHandle) Scalings() map[string][]api.ScalingEvent {
	events, _ := withJob(j.engine, j.key, func(r *jobRun) (map[string][]api.ScalingEvent, error) { return maps.Clone(r.scalings), nil })
	return events
}
