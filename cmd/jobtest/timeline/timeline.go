// Package timeline describes the events of a job test in lines that are the same on
// every machine: the time, the object, and the event.
package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"taskrun/cmd/report/scrub"
	"taskrun/engine/leaf/event"
)

// Event is an event at some time of a run.
type Event struct {
	At      time.Duration `json:"at"`                // since the beginning of the run
	Target  string        `json:"target,omitempty"`  // GROUP[INDEX]/TASK or GROUP[INDEX]; empty: the job as a whole
	Type    string        `json:"type"`              // of a task event, in Nomad's words; else allocation, health, deployment, service or check
	Message string        `json:"message,omitempty"` // without IDs and paths of this machine
}

// Of returns the events of a run that began at a time. Changes of a task's state
// are left out: a task event says the same.
func Of(began time.Time, events []event.Event) (line []Event) {
	replacements := map[string]bool{}
	for _, e := range events {
		kind, message := words(e)
		if kind == "" {
			continue
		}
		if b, ok := e.Body.(event.AllocStatus); ok && b.Replaces != "" && !replacements[e.Alloc.ID] {
			replacements[e.Alloc.ID] = true
			message += ", in place of the one before"
		}
		line = append(line, Event{At: e.Time.Sub(began), Target: target(e), Type: kind, Message: scrub.IDs(message)})
	}
	return line
}

func words(e event.Event) (kind, message string) {
	switch b := e.Body.(type) {
	case event.TaskEvent:
		return b.Type, b.DisplayMessage
	case event.AllocStatus:
		return "allocation", join(b.Status, b.Description)
	case event.AllocHealth:
		if b.Healthy {
			return "health", "healthy"
		}
		return "health", "unhealthy"
	case event.Deployment:
		return "deployment", join(b.Status, b.Description)
	case event.Service:
		if b.Registered {
			return "service", b.Name + " registered"
		}
		return "service", b.Name + " deregistered"
	case event.Check:
		return "check", join(fmt.Sprintf("%s of %s: %s", b.Check, b.Service, b.Status), b.Output)
	}
	return "", ""
}

func join(status, more string) string {
	if more == "" {
		return status
	}
	return status + ": " + more
}

func target(e event.Event) string {
	if e.Alloc == nil {
		return ""
	}
	return Target(e.Alloc, e.Task)
}

// Target names an allocation or one of its tasks. A job that runs in the name of
// another one adds its part of the name.
func Target(a *event.Alloc, task string) string {
	name := fmt.Sprintf("%s[%d]", a.Group, a.Index())
	if child, ok := strings.CutPrefix(a.Job, a.Parent+"/"); ok && a.Parent != "" {
		name = child + "/" + name
	}
	if task != "" {
		name += "/" + task
	}
	return name
}

// String returns the event as a line of a snapshot, with its time in milliseconds.
func (e Event) String() string {
	return strings.TrimSpace(fmt.Sprintf("%-10s %-16s %s", e.At.Round(time.Millisecond), cmp.Or(e.Target, "-"), join(e.Type, e.Message)))
}

// About returns the last n events of one of the targets, or of all without one.
// An allocation is a target of the events of its tasks as well.
func About(events []Event, targets []string, n int) (last []Event) {
	for _, e := range events {
		of := func(target string) bool { return e.Target == target || strings.HasPrefix(e.Target, target+"/") }
		if len(targets) == 0 || slices.ContainsFunc(targets, of) {
			last = append(last, e)
		}
	}
	return last[max(0, len(last)-n):]
}
