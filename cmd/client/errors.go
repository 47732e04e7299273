package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// UnknownError says that a target matches nothing.
type UnknownError struct {
	Target string
	Near   string // what was probably meant; may be empty
}

func (e *UnknownError) Error() string { return fmt.Sprintf("no task matches %q", e.Target) }

// ambiguous says that a target matches several running tasks.
func ambiguous(target string, matches []*Task, labels map[*Task]string) error {
	names := make([]string, len(matches))
	for i, t := range matches {
		names[i] = labels[t]
	}
	return fmt.Errorf("%q is ambiguous: %s", target, list(names))
}

// maxListed is how many names a message lists.
const maxListed = 10

func list(names []string) string {
	if more := len(names) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// NotRunning says that no task that a target matches is running.
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
	case t.State.StartedAt.IsZero():
		return fmt.Errorf("task %q has not started yet", labels[t])
	default:
		return fmt.Errorf("task %q is not running: it waits for its restart", labels[t])
	}
}

// howItEnded returns how the task ended in a few words.
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

// nearest returns the target that is spelled most like a word, "" when none is
// similar.
func nearest(word string, tasks []*Task) string {
	best, distance := "", min(len(word), max(2, len(word)/3)+1)
	names := Targets(tasks, "")
	for _, t := range tasks {
		names = append(names, t.taskNames()...)
	}
	for _, target := range names {
		d := levenshtein.Distance(strings.ToLower(word), strings.ToLower(target), nil)
		if strings.HasPrefix(target, word) {
			d = 0 // the beginning of a name
		}
		if d < distance || d == distance && best != "" && len(target) == len(word) && len(best) != len(word) {
			best, distance = target, d // letters are swapped more often than left out
		}
	}
	return best
}

// Running returns the labels of running tasks, at most a few, for a hint.
func Running(tasks []*Task) string {
	labels := Labels(tasks)
	var names []string
	for _, t := range tasks {
		if t.Running() && !slices.Contains(names, labels[t]) {
			names = append(names, labels[t])
		}
	}
	return list(names)
}
