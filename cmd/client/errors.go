package client

import (
	"fmt"
	"strings"
)

// UnknownError says that a target matches nothing.
type UnknownError struct {
	Target string
	Near   string // the name that was probably meant; may be empty
}

func (e *UnknownError) Error() string { return fmt.Sprintf("no task matches %q", e.Target) }

func ambiguous(target string, matches []*Task, labels map[*Task]string) error {
	names := make([]string, len(matches))
	for i, t := range matches {
		names[i] = labels[t]
	}
	return fmt.Errorf("%q is ambiguous: %s", target, Listed(names))
}

// maxListed is how many names a message lists.
const maxListed = 10

// Listed joins the first names, and counts the rest.
func Listed(names []string) string {
	if more := len(names) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// NotRunning returns the error of a target whose tasks are not running.
func NotRunning(target string, matches []*Task, labels map[*Task]string) error {
	switch t := matches[0]; {
	case len(matches) == 2:
		return fmt.Errorf("%q matches 2 tasks; neither is running", target)
	case len(matches) > 2:
		return fmt.Errorf("%q matches %d tasks; none is running", target, len(matches))
	case t.Name == "":
		return fmt.Errorf("allocation %s has not started yet", t.Alloc.ID[:8])
	case t.State.State == "dead":
		return fmt.Errorf("task %q is dead: %s", labels[t], t.howItEnded())
	case t.Halted():
		return fmt.Errorf("task %q is stopped: start it with: taskrun start %s", labels[t], labels[t])
	case t.State.StartedAt.IsZero():
		return fmt.Errorf("task %q has not started yet", labels[t])
	default:
		return fmt.Errorf("task %q is not running: it waits for its restart", labels[t])
	}
}

func (t *Task) howItEnded() string {
	var how []string
	if code := t.ExitCode(); code != nil {
		how = append(how, fmt.Sprintf("it ended with exit code %d", *code))
	} else if t.State.StartedAt.IsZero() {
		how = append(how, "it never started")
	}
	if at := t.State.FinishedAt; !at.IsZero() {
		how = append(how, "at "+at.Local().Format("15:04:05"))
	}
	if t.State.Failed {
		how = append(how, "and failed")
	}
	if len(how) == 0 {
		return "it has ended"
	}
	return strings.Join(how, " ")
}
