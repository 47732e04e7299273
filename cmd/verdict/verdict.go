// Package verdict decides whether a run is stopped before its end, and which exit
// code it has. It is pure: events, signals and the time come in as values, and an
// action comes out.
package verdict

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
)

// Policy holds the user's wishes for the end of a run.
type Policy struct {
	Until    time.Duration // > 0: stop with success once every task has run this long
	Healthy  bool          // stop with success once every deployment is successful
	Timeout  time.Duration // for its message
	Events   uint64        // > 0: stop as after a timeout when there have been more
	FailFast bool          // the first failed allocation ends the run
	CodeFrom *CodeFrom     // nil: the exit code is that of the run
	Stage    Stage         // of a rehearsal; nil for a run
	// Since is when running jobs were changed: the time until then does not count
	// for Until. Zero: they are new.
	Since time.Time
	// Outlives means that the run does not end with this process, as in a
	// cluster: a signal and a closed stdout leave the run. First is the action of
	// the first signal instead: Ask, if it is Ctrl-C, or Kill.
	Outlives bool
	First    Action
}

// Stage is the progress of a rehearsal.
type Stage interface {
	// Observe handles an event and returns why the rehearsal has failed, or "".
	Observe(e event.Event) (failure string)
	// Complete reports whether every task was rehearsed.
	Complete(final []*fold.Alloc) bool
}

// Action is an action on the run.
type Action int

// The actions, the mildest first.
const (
	CarryOn Action = iota
	Ask            // ask the user what to do, see Answer
	Leave          // stop following the run; it continues
	Stop           // stop it gracefully
	Kill           // stop it at once
)

// Decision is an action with a message to the user.
type Decision struct {
	Action
	Say string // may be empty
}

// Cause is why a run is stopped.
type Cause struct {
	Text string // empty: it is not stopped
	Code int
	Own  bool // failures do not change the code
	User bool // the user stopped it, which is no failure
}

// Verdict decides about a run, in the order of its events.
//
//	running ──failure, --exit-code-from, --until, timeout, signal, stdout──▶ stopping ──signal──▶ killed
//	   └───────────────────────────── by itself ────────────────────────────────▶ ended ◀───────────┘
//
// The first cause to stop a run is the one that counts.
type Verdict struct {
	Policy
	Run   *fold.Run
	Cause Cause

	signals   int
	asked     bool
	left      int
	successes map[string]bool // jobs whose deployments were successful
}

// New returns the verdict on a run of jobs after the events of its past, which cause
// no decision.
func New(p Policy, jobs []*api.Job, past ...event.Event) *Verdict {
	return &Verdict{Policy: p, Run: fold.New(jobs, past...), successes: map[string]bool{}}
}

// Observe handles an event. Like the methods below it returns what to do.
func (v *Verdict) Observe(e event.Event) Decision {
	v.Run.Apply(e)
	if v.Stopping() {
		return Decision{}
	}
	if v.Events > 0 && e.Seq > v.Events {
		return v.stop(Cause{Text: fmt.Sprintf("there were more than %d events", v.Events), Code: Timeout})
	}
	if s, ok := e.Body.(event.AllocStatus); ok && s.Status == api.AllocClientStatusFailed && (v.FailFast || v.Until > 0 || v.Healthy || v.Stage != nil) {
		return v.stop(Cause{Text: e.Alloc.Name + " failed", Code: Failed})
	}
	if d, ok := e.Body.(event.Deployment); ok && v.Healthy {
		return v.deployed(d)
	}
	if v.Stage != nil {
		if why := v.Stage.Observe(e); why != "" {
			return v.stop(Cause{Text: why, Code: Failed, Own: true})
		}
	}
	if v.CodeFrom != nil {
		if code, ok := v.CodeFrom.code(v.Run); ok {
			return v.stop(Cause{Text: fmt.Sprintf("task %q has ended", v.CodeFrom), Code: code, Own: true})
		}
	}
	if v.Stage != nil {
		if final := v.Run.Final(); len(final) >= v.Run.Expected() && v.Stage.Complete(final) {
			return v.stop(Cause{Text: "every task was rehearsed"})
		}
	}
	return Decision{}
}

func (v *Verdict) deployed(d event.Deployment) Decision {
	switch d.Status {
	case health.DeploymentSuccessful:
		v.successes[d.Job] = true
		if len(v.successes) == len(v.Run.Jobs) {
			return v.stop(Cause{Text: "every allocation is healthy"})
		}
	case health.DeploymentFailed:
		return v.stop(Cause{Text: fmt.Sprintf("the deployment of job %q has failed: %s", d.Job, d.Description), Code: Failed, Own: true})
	}
	return Decision{}
}

// Due returns when --until will be fulfilled if nothing else happens.
func (v *Verdict) Due() (at time.Time, ok bool) {
	if v.Until <= 0 || v.Stopping() {
		return time.Time{}, false
	}
	final := v.Run.Final()
	if len(final) < v.Run.Expected() || v.changing() {
		return time.Time{}, false
	}
	at = v.Since
	for _, a := range final {
		for _, t := range a.Tasks {
			switch {
			case t.Poststop(), t.State == "dead" && !t.Failed:
			case t.State != "running":
				return time.Time{}, false
			case t.Running.After(at):
				at = t.Running
			}
		}
	}
	return at.Add(v.Until), !at.IsZero()
}

// changing reports whether allocations of an earlier version are still to be
// replaced.
func (v *Verdict) changing() bool {
	if v.Since.IsZero() {
		return false
	}
	// A cluster does not publish the end of an earlier deployment.
	return slices.ContainsFunc(v.Run.Jobs, func(j *api.Job) bool {
		d := v.Run.Deployment(*j.ID)
		return d != nil && d.Status == health.DeploymentRunning
	})
}

// Tick handles that time has passed.
func (v *Verdict) Tick(now time.Time) Decision {
	if at, ok := v.Due(); ok && !now.Before(at) {
		return v.stop(Cause{Text: fmt.Sprintf("every task has run for %v", v.Until)})
	}
	return Decision{}
}

// Overdue handles that --timeout has passed.
func (v *Verdict) Overdue() Decision {
	text := fmt.Sprintf("the timeout of %v has passed", v.Timeout)
	if tasks := v.unfinished(); tasks != "" {
		text += " with " + tasks
	}
	return v.stop(Cause{Text: text, Code: Timeout})
}

// Signal handles a signal to taskrun with the exit code that it leads to.
func (v *Verdict) Signal(sig os.Signal, code int) Decision {
	v.signals++
	switch {
	case v.Outlives && v.First == Ask && sig == os.Interrupt && !v.asked && !v.Stopping():
		v.asked = true
		return Decision{Action: Ask}
	case v.Outlives && v.First == Kill && v.signals == 1:
		return Decision{Kill, "killing; press Ctrl-C again to leave the run"}
	case v.Outlives:
		return v.leave(code)
	case v.signals > 1:
		return Decision{Kill, "killing"}
	}
	v.stop(Cause{Text: sig.String(), Code: code, User: true})
	return Decision{Stop, "stopping; press Ctrl-C again to kill"}
}

// Answer handles the user's answer to Ask: stop the run, leave it, or else carry on.
func (v *Verdict) Answer(answer string) Decision {
	if !v.asked || v.left != 0 {
		return Decision{}
	}
	v.asked = false
	switch strings.ToLower(answer) {
	case "s", "stop":
		v.stop(Cause{Text: "interrupt", Code: Interrupt, User: true})
		return Decision{Stop, "stopping; press Ctrl-C to leave the run"}
	case "l", "leave":
		return v.leave(Interrupt)
	}
	return Decision{}
}

func (v *Verdict) leave(code int) Decision {
	v.left = cmp.Or(v.left, code)
	return Decision{Action: Leave}
}

// Left returns the exit code of taskrun after the decision to leave the run, and 0
// without one.
func (v *Verdict) Left() int { return v.left }

// ByClient is the text of the cause if a client has stopped the run.
const ByClient = "a client stopped it"

// Ordered handles that a client stops or kills the run.
func (v *Verdict) Ordered(kill bool) Decision {
	v.stop(Cause{Text: ByClient, User: true})
	if kill {
		return Decision{Kill, "killing: a client requested it"}
	}
	return Decision{Stop, "stopping: a client requested it"}
}

// Impatient reports whether the user wants this process to end at once.
func (v *Verdict) Impatient() bool { return v.signals > 1 || v.left != 0 }

// Stopping reports whether there is a cause to stop the run.
func (v *Verdict) Stopping() bool { return v.Cause.Text != "" }

// Closed handles that stdout can no longer be written to.
func (v *Verdict) Closed(err error) Decision {
	c := Cause{Text: fmt.Sprintf("cannot write to stdout: %v", err), Code: Internal, Own: true}
	switch {
	case errors.Is(err, syscall.EPIPE):
		c = Cause{Text: "stdout was closed", Code: Pipe, Own: true}
	case errors.Is(err, syscall.EIO): // SIGHUP follows
		c = Cause{Text: "the terminal was closed", Code: Hangup}
	}
	stop := v.stop(c)
	if v.Outlives { // it continues without a reader
		return v.leave(v.Cause.Code)
	}
	return stop
}

// Broke handles a failure of taskrun itself after the end of the run, and reports
// whether it decides the exit code. A failure of the run takes precedence. An
// allocation that did not complete is not such a failure, because taskrun may have
// lost it.
func (v *Verdict) Broke(err error) (counts bool) {
	if v.Cause.Code != OK || !v.Cause.Own && v.failed() {
		return false
	}
	v.Cause = Cause{Text: err.Error(), Code: Internal, Own: true}
	return true
}

func (v *Verdict) stop(c Cause) Decision {
	if v.Stopping() {
		return Decision{}
	}
	v.Cause = c
	return Decision{Stop, c.Text + ": stopping"}
}

// Code returns the exit code, after the end of the run.
func (v *Verdict) Code() int {
	if v.Cause.Own {
		return v.Cause.Code
	}
	if v.Failed() {
		return Failed
	}
	return v.Cause.Code
}

// Failed reports whether the run failed: an allocation failed and was not replaced by
// one that completed, or the run ended before all of them had completed.
func (v *Verdict) Failed() bool {
	return v.failed() || v.Cause.Code == Failed || !v.Stopping() && !v.completed()
}

func (v *Verdict) failed() bool {
	return slices.ContainsFunc(v.Run.Final(), func(a *fold.Alloc) bool { return a.Status == api.AllocClientStatusFailed })
}

// completed reports whether every allocation has completed that the jobs expect.
func (v *Verdict) completed() bool {
	final := v.Run.Final()
	return len(final) >= v.Run.Expected() &&
		!slices.ContainsFunc(final, func(a *fold.Alloc) bool { return a.Status != api.AllocClientStatusComplete })
}

// unfinished returns the names and states of some tasks that have not ended.
func (v *Verdict) unfinished() string {
	const shown = 3
	var names []string
	more := 0
	for _, a := range v.Run.Final() {
		for _, t := range a.Tasks {
			switch {
			case t.State == "dead", t.Poststop():
			case len(names) < shown:
				names = append(names, fmt.Sprintf("%s %s", t.Name, t.State))
			default:
				more++
			}
		}
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
