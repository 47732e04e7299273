package cmd

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
)

// policy is what the user wants of the end of a run.
type policy struct {
	until    time.Duration // > 0: stop well once every task has run this long
	healthy  bool          // stop well once every deployment is successful
	timeout  time.Duration // for what is said about it
	failFast bool          // the first failed allocation ends the run
	codeFrom *codeFrom     // nil: the exit code is that of the run
	rehearse *rehearsalRun // nil: it is none
	// since is when jobs were changed that ran before: that they did does not
	// count for until. Zero: they are new.
	since time.Time
}

// action is what is to be done with the run now.
type action int

const (
	carryOn action = iota
	stopRun        // gracefully
	killRun        // at once
)

// verdict decides when a run is to end before its time and which exit code it
// gets. It sees what happens in the order in which it happens; time is an
// argument.
//
//	running ──failure, --exit-code-from, --until, timeout, signal, stdout──▶ stopping ──signal──▶ killed
//	   └───────────────────────────── by itself ────────────────────────────────▶ ended ◀───────────┘
//
// The first cause to stop a run is the one that counts.
type verdict struct {
	policy
	run     *fold.Run
	cause   cause
	signals int

	successes map[string]bool // jobs whose deployments were successful
}

// cause is why a run was stopped.
type cause struct {
	text string // empty: it was not
	code int
	own  bool // no failure changes the code
}

func newVerdict(p policy, jobs []*api.Job) *verdict {
	return &verdict{policy: p, run: fold.New(jobs), successes: map[string]bool{}}
}

// observe takes in an event. Like the methods below it returns what to do now
// and what to tell the user about it.
func (v *verdict) observe(e event.Event) (action, string) {
	v.run.Apply(e)
	if v.cause.text != "" {
		return carryOn, ""
	}
	if s, ok := e.Body.(event.AllocStatus); ok && s.Status == api.AllocClientStatusFailed && (v.failFast || v.until > 0 || v.healthy || v.rehearse != nil) {
		return v.stop(cause{text: e.Alloc.Name + " failed", code: exitFailed})
	}
	if d, ok := e.Body.(event.Deployment); ok && v.healthy {
		return v.deployed(d)
	}
	if v.rehearse != nil {
		if why := v.rehearse.observe(e); why != "" {
			return v.stop(cause{text: why, code: exitFailed, own: true})
		}
	}
	if v.codeFrom != nil {
		if code, ok := v.codeFrom.code(v.run); ok {
			return v.stop(cause{text: fmt.Sprintf("task %q has ended", v.codeFrom), code: code, own: true})
		}
	}
	if v.rehearse != nil {
		if final := v.run.Final(); len(final) >= v.run.Expected() && v.rehearse.staged(final) {
			return v.stop(cause{text: "all that should run has been rehearsed"})
		}
	}
	return carryOn, ""
}

// deployed takes in the state of a job's deployment.
func (v *verdict) deployed(d event.Deployment) (action, string) {
	switch d.Status {
	case health.DeploymentSuccessful:
		v.successes[d.Job] = true
		if len(v.successes) == len(v.run.Jobs) {
			return v.stop(cause{text: "every allocation is healthy"})
		}
	case health.DeploymentFailed:
		return v.stop(cause{text: fmt.Sprintf("the deployment of job %q has failed: %s", d.Job, d.Description), code: exitFailed, own: true})
	}
	return carryOn, ""
}

// due returns when --until is fulfilled if nothing happens before.
func (v *verdict) due() (at time.Time, ok bool) {
	if v.until <= 0 || v.cause.text != "" {
		return time.Time{}, false
	}
	final := v.run.Final()
	if len(final) < v.run.Expected() || v.changing() {
		return time.Time{}, false
	}
	at = v.since
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
	return at.Add(v.until), !at.IsZero()
}

// changing reports whether allocations of an earlier version are yet to be
// replaced.
func (v *verdict) changing() bool {
	if v.since.IsZero() {
		return false
	}
	for _, d := range v.run.Deployments {
		if d.Status == health.DeploymentRunning {
			return true
		}
	}
	return false
}

// tick takes in that time has passed.
func (v *verdict) tick(now time.Time) (action, string) {
	if at, ok := v.due(); ok && !now.Before(at) {
		return v.stop(cause{text: fmt.Sprintf("every task has run for %v", v.until)})
	}
	return carryOn, ""
}

// overdue takes in that --timeout has passed.
func (v *verdict) overdue() (action, string) {
	text := fmt.Sprintf("the timeout of %v has passed", v.timeout)
	if tasks := v.unfinished(); tasks != "" {
		text += " with " + tasks
	}
	return v.stop(cause{text: text, code: exitTimeout})
}

// signal takes in a signal to taskrun.
func (v *verdict) signal(sig os.Signal) (action, string) {
	v.signals++
	if v.signals > 1 {
		return killRun, "killing"
	}
	v.stop(cause{text: sig.String(), code: stopSignals[sig]})
	return stopRun, "stopping, again to kill"
}

// ordered takes in that a client stops the run, or kills it.
func (v *verdict) ordered(kill bool) (action, string) {
	v.stop(cause{text: "it was told to stop"})
	if kill {
		return killRun, "killing: a client wants it"
	}
	return stopRun, "stopping: a client wants it"
}

// killed reports whether the user wanted the run to end at once.
func (v *verdict) killed() bool { return v.signals > 1 }

// closed takes in that stdout cannot be written to any more.
func (v *verdict) closed(err error) (action, string) {
	switch {
	case errors.Is(err, syscall.EPIPE):
		return v.stop(cause{text: "stdout was closed", code: exitPipe, own: true})
	case errors.Is(err, syscall.EIO): // SIGHUP says the same, a little later
		return v.stop(cause{text: "the terminal was closed", code: exitHangup})
	}
	return v.stop(cause{text: fmt.Sprintf("cannot write to stdout: %v", err), code: exitInternal, own: true})
}

// broke takes in that taskrun itself failed, when all is over. A failure of a
// task is the greater news.
func (v *verdict) broke(err error) (counts bool) {
	if v.code() != exitOK {
		return false
	}
	v.cause = cause{text: err.Error(), code: exitInternal, own: true}
	return true
}

func (v *verdict) stop(c cause) (action, string) {
	if v.cause.text != "" {
		return carryOn, ""
	}
	v.cause = c
	return stopRun, c.text + ": stopping"
}

// code is the exit code, when nothing more will happen.
func (v *verdict) code() int {
	if v.cause.own {
		return v.cause.code
	}
	if v.failed() {
		return exitFailed
	}
	return v.cause.code
}

// failed reports whether the run failed: an allocation did and was not
// replaced by one that completed, or the run ended without all of them having
// completed.
func (v *verdict) failed() bool {
	final := v.run.Final()
	if v.cause.text == "" && len(final) < v.run.Expected() {
		return true
	}
	for _, a := range final {
		switch a.Status {
		case api.AllocClientStatusFailed:
			return true
		case api.AllocClientStatusComplete:
		default:
			if v.cause.text == "" {
				return true
			}
		}
	}
	return v.cause.code == exitFailed
}

// unfinished names some tasks that have not ended, with their states.
func (v *verdict) unfinished() string {
	const shown = 3
	var names []string
	more := 0
	for _, a := range v.run.Final() {
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
