// Package restart decides whether a task that ended is started again, and
// whether an allocation that failed is replaced. It is pure: time and random
// numbers are arguments.
//
// The rules are those of Nomad's restart and reschedule blocks,
// https://developer.hashicorp.com/nomad/docs/job-specification/restart and
// https://developer.hashicorp.com/nomad/docs/job-specification/reschedule.
package restart

import (
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"
)

// Reasons, in Nomad's words.
const (
	ReasonNoRestarts    = "Policy allows no restarts"
	ReasonUnrecoverable = "Error was unrecoverable"
	reasonWithinPolicy  = "Restart within policy"
	ReasonDelay         = "Exceeded allowed attempts, applying a delay"
)

// Policy is a task's effective restart policy.
type Policy struct {
	Attempts int
	Interval time.Duration
	Delay    time.Duration
	Mode     string // api.RestartPolicyModeFail or api.RestartPolicyModeDelay
	// OnSuccess says whether a task that ended successfully is started again.
	OnSuccess bool
}

// OnSuccess reports whether a task that ended successfully is started again:
// services are, batch tasks are not, and a lifecycle hook decides for itself.
func OnSuccess(jobType string, l *api.TaskLifecycle) bool {
	if l != nil {
		switch l.Hook {
		case api.TaskLifecycleHookPrestart, api.TaskLifecycleHookPoststart:
			return l.Sidecar
		case api.TaskLifecycleHookPoststop:
			return false
		}
	}
	return jobType != api.JobTypeBatch && jobType != api.JobTypeSysbatch
}

// PolicyOf reads the policy of a canonicalized task.
func PolicyOf(jobType string, task *api.Task) Policy {
	r := task.RestartPolicy
	return Policy{
		Attempts:  *r.Attempts,
		Interval:  *r.Interval,
		Delay:     *r.Delay,
		Mode:      *r.Mode,
		OnSuccess: OnSuccess(jobType, task.Lifecycle),
	}
}

// End is how the latest run of a task ended, or failed to start.
type End struct {
	// Killed is true if the task was told to end for good.
	Killed bool
	// Halted is true if the task was stopped until it is ordered to start.
	Halted bool
	// Requested is true for a restart that was ordered and is no failure.
	Requested bool
	// StartError is true if the task could not be started. Recoverable says
	// whether to try again.
	StartError, Recoverable bool
	// Successful is true if the task ended with code 0, no signal and no error.
	Successful bool
}

// Action is what happens to a task that ended.
type Action uint8

// The actions.
const (
	// Finish: the task is dead and has not failed.
	Finish Action = iota
	// Fail: the task is dead and has failed.
	Fail
	// Killed: the task is dead, as ordered.
	Killed
	// Restart: the task is started again after Delay.
	Restart
	// Halt: the task is started again when it is ordered to.
	Halt
)

// String returns the action's name.
func (a Action) String() string { return [...]string{"finish", "fail", "killed", "restart", "halt"}[a] }

// Decision is the consequence of an End.
type Decision struct {
	Action Action
	Delay  time.Duration
	Reason string
	// WithinPolicy is true for a restart that the policy allows without a
	// further delay.
	WithinPolicy bool
}

// Tracker counts the restarts of a task within the policy's interval.
type Tracker struct {
	Count int       // runs that ended in the interval
	Start time.Time // start of the interval
}

// Decide returns the decision about a task that ended at now, and the tracker
// for the next call. Chance, in [0,1), adds up to a quarter to the delay. The
// rules are tried in Nomad's order; the first that applies wins.
func (t Tracker) Decide(p Policy, end End, now time.Time, chance float64) (Tracker, Decision) {
	switch {
	case end.Killed:
		return t, Decision{Action: Killed}
	case end.Halted:
		return t, Decision{Action: Halt}
	case end.Requested:
		return t, Decision{Action: Restart}
	case p.Attempts == 0:
		if end.Successful && !p.OnSuccess {
			return t, Decision{Action: Finish}
		}
		return t, Decision{Action: Fail, Reason: ReasonNoRestarts}
	}

	if now.After(t.Start.Add(p.Interval)) {
		t = Tracker{Start: now}
	}
	t.Count++

	switch {
	case end.StartError && !end.Recoverable:
		return t, Decision{Action: Fail, Reason: ReasonUnrecoverable}
	case end.Successful && !p.OnSuccess:
		return t, Decision{Action: Finish}
	case t.Count <= p.Attempts:
		return t, Decision{Action: Restart, Delay: jitter(p.Delay, chance), Reason: reasonWithinPolicy, WithinPolicy: true}
	case p.Mode == api.RestartPolicyModeDelay:
		return t, Decision{Action: Restart, Delay: max(t.Start.Add(p.Interval).Sub(now), 0), Reason: ReasonDelay}
	default:
		return t, Decision{Action: Fail, Reason: fmt.Sprintf(
			"Exceeded allowed attempts %d in interval %v and mode is \"fail\"", p.Attempts, p.Interval)}
	}
}

func jitter(d time.Duration, chance float64) time.Duration {
	return d + time.Duration(chance*float64(d)/4)
}
