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

func checkScaling(job *api.Job, g *api.TaskGroup, d *deploymentRecord, order Scaling) error {
	switch {
	case g == nil:
		return badScale("task group %q specified for scaling does not exist in job", order.Group)
	case order.Count == nil:
		return nil
	case order.Error:
		return badScale("scaling action should not contain count if error is true")
	case *order.Count < 0:
		return badScale("scaling action count can't be negative")
	case *job.Type == api.JobTypeSystem:
		return badScale("cannot scale jobs of type %q", *job.Type)
	case d != nil && d.Active():
		return badScale("job scaling blocked due to active deployment")
	}
	if p := g.Scaling; p != nil {
		switch {
		case p.Max != nil && *order.Count > *p.Max:
			return badScale("group count was greater than scaling policy maximum: %d > %d", *order.Count, *p.Max)
		case p.Min != nil && *order.Count < *p.Min:
			return badScale("group count was less than scaling policy minimum: %d < %d", *order.Count, *p.Min)
		}
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
