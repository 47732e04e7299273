package view

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/outcome"
	"taskrun/cmd/ui"
	"taskrun/engine/fold"
	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
)

// words describes events by a symbol and a text. It returns no symbol for an
// event that another line describes.
type words struct {
	*ui.Style
	run     *fold.Run
	verbose bool // even if another line says the same
}

func (w words) of(e event.Event) (symbol, text string) {
	alloc := ""
	if e.Alloc != nil {
		alloc = e.Alloc.Name
	}
	switch body := e.Body.(type) {
	case event.TaskEvent:
		return w.taskEvent(w.run.Task(e), body)
	case event.TaskState:
		return w.taskState(w.run.Task(e)), ""
	case event.AllocStatus:
		return w.allocStatus(w.run.Alloc(e.Alloc), body)
	case event.AllocHealth:
		if !body.Healthy {
			return w.Bad("✗"), w.Bad(visible.String(alloc + " is not healthy"))
		}
		return w.Good("✓"), visible.String(alloc + " is healthy")
	case event.Deployment:
		return w.deployment(body)
	case event.Service:
		if body.Registered && body.Address != "" {
			return w.Note("▸"), visible.String(fmt.Sprintf("%s: service %s at %s", alloc, body.Name, address(body)))
		}
	case event.Check:
		switch body.Status {
		case "success":
			return w.Good("✓"), visible.String(fmt.Sprintf("%s: check %q passes", alloc, body.Check))
		case "failure":
			return w.Bad("!"), visible.String(alloc) + ": " + w.Bad(fmt.Sprintf("check %q fails: %s", body.Check, ui.OneLine(body.Output)))
		}
	case event.Gap:
		return w.Waiting("▲"), fmt.Sprintf("%d bytes of %s were left out here: the reader was too slow", body.Bytes, body.Stream)
	case event.Notice:
		return w.Note("▸"), w.Plain(body.Text)
	}
	return "", ""
}

func (w words) taskEvent(t *fold.Task, e event.TaskEvent) (symbol, text string) {
	if !w.verbose && stated(e) {
		return "", ""
	}
	text = visible.String(e.Type)
	if e.DisplayMessage != "" {
		text += ": " + e.DisplayMessage
	}
	if cause := t.Cause(); e.Type == api.TaskRestarting && cause.Reason == fold.Exited && !w.verbose {
		text += " (" + outcome.Why(cause) + ")"
	}
	switch weight := t.Weigh(e.TaskEvent); {
	case weight == fold.Trouble:
		return w.Bad("!"), w.Bad(text)
	case e.Type == api.TaskRestarting:
		return w.Waiting("↻"), w.Waiting(text)
	case weight == fold.Setback:
		return w.Waiting("!"), w.Waiting(text)
	}
	return w.Quiet("·"), w.Quiet(text)
}

// stated reports whether the following state of the task says the same as an
// event.
func stated(e event.TaskEvent) bool {
	switch e.Type {
	case api.TaskStarted, api.TaskTerminated:
		return true
	case api.TaskKilled:
		return e.Details["kill_error"] == ""
	}
	return false
}

func (w words) taskState(t *fold.Task) string {
	text := visible.String(t.State)
	switch {
	case t.Halted:
		return w.Quiet("■ stopped")
	case t.State == "running":
		return w.Good("● " + text)
	case t.State == "pending":
		if n := len(t.Events); n > 0 && t.Events[n-1].Type == api.TaskRestarting && !w.verbose {
			return ""
		}
		return w.Waiting("○ " + text)
	case t.ExitCode != nil:
		text += fmt.Sprintf(", exit code %d", *t.ExitCode)
		if !w.verbose {
			text += exitDetail(t.Cause())
		}
	case t.Started.IsZero():
		text += ", never started"
	}
	switch {
	case t.Failed:
		return w.Bad("✗ " + text + ", failed")
	case t.ExitCode != nil && *t.ExitCode == 0 && !t.Stopped():
		return w.Good("✓ " + text)
	}
	return w.Quiet("■ " + text)
}

// exitDetail returns the details of an exit besides its code.
func exitDetail(c fold.Cause) (detail string) {
	if c.Reason != fold.Exited {
		return ""
	}
	if c.Signal != 0 {
		detail = fmt.Sprintf(", signal %d", c.Signal)
	}
	if c.OutOfMemory {
		detail += ", out of memory"
	}
	if c.Message != "" {
		detail += ", " + ui.OneLine(c.Message)
	}
	return detail
}

// allocStatus describes the new status of an allocation. Its tasks show when it
// is pending or running.
func (w words) allocStatus(a *fold.Alloc, to event.AllocStatus) (symbol, text string) {
	name := visible.String(a.Name)
	switch to.Status {
	case api.AllocClientStatusComplete:
		if a.Stopped() {
			return w.Quiet("■"), w.Quiet(name + " stopped")
		}
		return w.Good("✓"), w.Good(fmt.Sprintf("%s complete: %s", name, to.Description))
	case api.AllocClientStatusFailed:
		text = fmt.Sprintf("%s failed: %s", name, to.Description)
		if to.Retry >= 0 {
			text += fmt.Sprintf("; it is replaced in %v", to.Retry)
		}
		return w.Bad("✗"), w.Bad(text)
	case api.AllocClientStatusPending:
		switch {
		case a.Replaces == nil || slices.ContainsFunc(a.Tasks, func(t *fold.Task) bool { return len(t.Events) > 0 }):
		case a.Replaces.Status == api.AllocClientStatusFailed:
			return w.Waiting("↻"), w.Waiting(name + " runs again, in place of the failed one")
		default:
			return w.Waiting("↻"), w.Waiting(name + " runs in place of the one before")
		}
	case api.AllocClientStatusLost:
		return w.Bad("✗"), w.Bad(fmt.Sprintf("%s is lost: %s", name, to.Description))
	case api.AllocClientStatusUnknown:
		return w.Waiting("?"), w.Waiting(fmt.Sprintf("%s is out of reach: %s", name, to.Description))
	}
	return "", ""
}

func (w words) deployment(d event.Deployment) (symbol, text string) {
	text = visible.String(fmt.Sprintf("job %s: %s", d.Job, d.Description))
	switch d.Status {
	case health.DeploymentSuccessful:
		return w.Good("✓"), text
	case health.DeploymentFailed:
		return w.Bad("✗"), w.Bad(fmt.Sprintf("job %s: the deployment has failed: %s", d.Job, d.Description))
	case health.DeploymentCancelled:
	default:
		if d.Status != health.DeploymentRunning || d.Canarying {
			return w.Waiting("○"), w.Waiting(text)
		}
	}
	return "", ""
}

func address(s event.Service) string {
	if s.Port == 0 {
		return s.Address
	}
	return net.JoinHostPort(s.Address, strconv.Itoa(s.Port))
}
