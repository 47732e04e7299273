package view

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/outcome"
	"taskrun/cmd/prose"
	"taskrun/cmd/ui"
	"taskrun/engine/fold"
	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
)

// words describes events.
type words struct {
	*ui.Style
	run     *fold.Run
	verbose bool // even if another line says the same
}

// phrase is an event in words: a symbol and a text. It has no symbol if another line
// describes the event.
type phrase struct {
	symbol, text string
	// step names what happened without its details, for lines that count the tasks
	// or allocations to which it happens. It is empty for failures and for anything
	// else that must have a line of its own.
	step string
}

func (w words) of(e event.Event) phrase {
	alloc := ""
	if e.Alloc != nil {
		alloc = e.Alloc.Name
	}
	switch body := e.Body.(type) {
	case event.TaskEvent:
		return w.taskEvent(w.run.Task(e), body)
	case event.TaskState:
		return w.taskState(w.run.Task(e))
	case event.AllocStatus:
		return w.allocStatus(w.run.Alloc(e.Alloc), body)
	case event.AllocHealth:
		if !body.Healthy {
			return phrase{symbol: w.Bad("✗"), text: w.Bad(visible.String(alloc + " is not healthy"))}
		}
		return phrase{w.Good("✓"), visible.String(alloc + " is healthy"), w.Good("✓ healthy")}
	case event.Deployment:
		return w.deployment(body)
	case event.Service:
		if body.Registered && body.Address != "" {
			text := visible.String(fmt.Sprintf("%s: service %s at %s", alloc, body.Name, address(body)))
			return phrase{w.Note("▸"), text, w.Note("▸ service " + visible.String(body.Name))}
		}
	case event.Check:
		switch body.Status {
		case "success":
			passes := fmt.Sprintf("check %q passes", body.Check)
			return phrase{w.Good("✓"), visible.String(alloc + ": " + passes), w.Good("✓ " + passes)}
		case "failure":
			text := visible.String(alloc) + ": " + w.Bad(fmt.Sprintf("check %q fails: %s", body.Check, prose.OneLine(body.Output)))
			return phrase{symbol: w.Bad("!"), text: text}
		}
	case event.Gap:
		text := fmt.Sprintf("%d bytes of %s were left out here: the reader was too slow", body.Bytes, body.Stream)
		return phrase{symbol: w.Waiting("▲"), text: text}
	case event.Notice:
		return phrase{symbol: w.Note("▸"), text: w.Plain(body.Text)}
	}
	return phrase{}
}

func (w words) taskEvent(t *fold.Task, e event.TaskEvent) phrase {
	if !w.verbose && stated(e) {
		return phrase{}
	}
	text := visible.String(e.Type)
	if e.DisplayMessage != "" {
		text += ": " + e.DisplayMessage
	}
	if cause := t.Cause(); e.Type == api.TaskRestarting && cause.Reason == fold.Exited && !w.verbose {
		text += " (" + outcome.Why(cause) + ")"
	}
	switch weight := t.Weigh(e.TaskEvent); {
	case weight == fold.Trouble:
		return phrase{symbol: w.Bad("!"), text: w.Bad(text)}
	case e.Type == api.TaskRestarting:
		return phrase{symbol: w.Waiting("↻"), text: w.Waiting(text)}
	case weight == fold.Setback: // for which another task is to blame
		return phrase{w.Waiting("!"), w.Waiting(text), w.Waiting("! " + visible.String(e.Type))}
	}
	return phrase{w.Quiet("·"), w.Quiet(text), w.Quiet("· " + visible.String(e.Type))}
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

func (w words) taskState(t *fold.Task) phrase {
	text, detail := visible.String(t.State), ""
	switch {
	case t.Halted:
		return phrase{symbol: w.Quiet("■ stopped"), step: w.Quiet("■ stopped")}
	case t.State == "running":
		return phrase{symbol: w.Good("● " + text), step: w.Good("● " + text)}
	case t.State == "pending":
		if n := len(t.Events); n > 0 && t.Events[n-1].Type == api.TaskRestarting && !w.verbose {
			return phrase{}
		}
		return phrase{symbol: w.Waiting("○ " + text), step: w.Waiting("○ " + text)}
	case t.ExitCode != nil:
		text += fmt.Sprintf(", exit code %d", *t.ExitCode)
		if !w.verbose {
			detail = exitDetail(t.Cause())
		}
	case t.Started.IsZero():
		text += ", never started"
	}
	switch {
	case t.Failed:
		return phrase{symbol: w.Bad("✗ " + text + detail + ", failed")}
	case t.ExitCode != nil && *t.ExitCode == 0 && !t.Stopped():
		return phrase{symbol: w.Good("✓ " + text + detail), step: w.Good("✓ " + text)}
	case t.ExitCode != nil && *t.ExitCode != 0 && !t.Stopping():
		return phrase{symbol: w.Quiet("■ " + text + detail)}
	}
	return phrase{symbol: w.Quiet("■ " + text + detail), step: w.Quiet("■ " + text)}
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
		detail += ", " + prose.OneLine(c.Message)
	}
	return detail
}

// allocStatus describes the new status of an allocation. Its tasks show when it
// is pending or running.
func (w words) allocStatus(a *fold.Alloc, to event.AllocStatus) phrase {
	name := visible.String(a.Name)
	switch to.Status {
	case api.AllocClientStatusComplete:
		if a.Stopped() {
			return phrase{w.Quiet("■"), w.Quiet(name + " stopped"), w.Quiet("■ stopped")}
		}
		return phrase{w.Good("✓"), w.Good(fmt.Sprintf("%s complete: %s", name, to.Description)), w.Good("✓ complete")}
	case api.AllocClientStatusFailed:
		text := fmt.Sprintf("%s failed: %s", name, to.Description)
		switch {
		case a.Forsaken:
			text = name + " is not replaced: its deployment has failed"
		case to.Retry >= 0:
			text += fmt.Sprintf("; it is replaced in %v", to.Retry)
		}
		return phrase{symbol: w.Bad("✗"), text: w.Bad(text)}
	case api.AllocClientStatusPending:
		switch {
		case a.Replaces == nil || slices.ContainsFunc(a.Tasks, func(t *fold.Task) bool { return len(t.Events) > 0 }):
		case a.Replaces.Status == api.AllocClientStatusFailed:
			return phrase{symbol: w.Waiting("↻"), text: w.Waiting(name + " runs again, in place of the failed one")}
		default:
			return phrase{w.Waiting("↻"), w.Waiting(name + " runs in place of the one before"), w.Waiting("↻ replaced")}
		}
	case api.AllocClientStatusLost:
		return phrase{symbol: w.Bad("✗"), text: w.Bad(fmt.Sprintf("%s is lost: %s", name, to.Description))}
	case api.AllocClientStatusUnknown:
		return phrase{symbol: w.Waiting("?"), text: w.Waiting(fmt.Sprintf("%s is out of reach: %s", name, to.Description))}
	}
	return phrase{}
}

func (w words) deployment(d event.Deployment) phrase {
	text := visible.String(fmt.Sprintf("job %s: %s", d.Job, d.Description))
	switch d.Status {
	case health.DeploymentSuccessful:
		return phrase{symbol: w.Good("✓"), text: text}
	case health.DeploymentFailed:
		return phrase{symbol: w.Bad("✗"), text: w.Bad(fmt.Sprintf("job %s: the deployment has failed: %s", d.Job, d.Description))}
	case health.DeploymentCancelled:
	default:
		if d.Status != health.DeploymentRunning || d.Canarying {
			return phrase{symbol: w.Waiting("○"), text: w.Waiting(text)}
		}
	}
	return phrase{}
}

func address(s event.Service) string {
	if s.Port == 0 {
		return s.Address
	}
	return net.JoinHostPort(s.Address, strconv.Itoa(s.Port))
}
