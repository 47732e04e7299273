package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// UnknownError says that a target stands for nothing.
type UnknownError struct {
	Target string
	Near   string // what was probably meant; may be empty
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("no task, group, job or allocation is called %q", e.Target)
}

// AmbiguousError says that a target stands for several running tasks.
type AmbiguousError struct {
	Target  string
	Matches []*Task
	Labels  map[*Task]string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q may be %s", e.Target, e.list())
}

// maxListed is how many matches an error lists.
const maxListed = 10

func (e *AmbiguousError) list() string {
	names := make([]string, 0, maxListed)
	for _, t := range e.Matches[:min(len(e.Matches), maxListed)] {
		names = append(names, e.Labels[t])
	}
	if more := len(e.Matches) - maxListed; more > 0 {
		return fmt.Sprintf("%s or one of %d others", strings.Join(names, ", "), more)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// NotRunningError says that no task that a target stands for runs.
type NotRunningError struct {
	Target  string
	Matches []*Task
	Labels  map[*Task]string
}

func (e *NotRunningError) Error() string {
	if len(e.Matches) > 1 {
		return fmt.Sprintf("none of the %d tasks of %q runs", len(e.Matches), e.Target)
	}
	t := e.Matches[0]
	switch {
	case t.Name == "":
		return fmt.Sprintf("allocation %s has not started yet", t.Alloc.ID[:8])
	case t.State.State == "dead":
		return fmt.Sprintf("task %q is dead: %s", e.Labels[t], t.howItEnded())
	case t.State.StartedAt.IsZero():
		return fmt.Sprintf("task %q has not started yet", e.Labels[t])
	default:
		return fmt.Sprintf("task %q does not run: it waits for its restart", e.Labels[t])
	}
}

// howItEnded tells it in a few words.
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
	for _, target := range slices.Concat(Targets(tasks, ""), fullNames(tasks)) {
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

func fullNames(tasks []*Task) (names []string) {
	for _, t := range tasks {
		names = append(names, t.taskNames()...)
	}
	return names
}

// Running returns the labels of the tasks that run, at most a few, for a hint.
func Running(tasks []*Task) string {
	labels := Labels(tasks)
	var names []string
	for _, t := range tasks {
		if t.Running() && !slices.Contains(names, labels[t]) {
			names = append(names, labels[t])
		}
	}
	if len(names) > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
	}
	return strings.Join(names, ", ")
}
