package client

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"taskrun/engine/leaf/event"
)

// A target names tasks: [JOB/][GROUP[INDEX]/]TASK or any part of it, or a
// prefix of an allocation's ID, optionally followed by /TASK. Matches are
// ranked: the name of the task comes before that of its group, then that of the
// job, and finally the ID.
type rank int

const (
	byTask rank = iota
	byGroup
	byJob
	byParent  // the periodic or parameterized job that launched the job
	byBareJob // as if the job were in the default namespace
	byID
	notAtAll
)

// minID is the minimum length of an allocation ID prefix, as in Nomad.
const minID = 2

// taskNames returns the names of the task with this name of its job, shortest first.
func (t *Task) taskNames(job string) []string {
	if t.Name == "" {
		return nil
	}
	return append(event.TaskNames(job, t.Alloc.TaskGroup, t.Index, t.Name), t.Alloc.Name+"/"+t.Name)
}

// groupNames returns the names of the task's allocation with this name of its job.
func (t *Task) groupNames(job string) []string {
	return append(event.GroupNames(job, t.Alloc.TaskGroup, t.Index), t.Alloc.Name)
}

// rank returns how a target matches the task.
func (t *Task) rank(target string) rank {
	switch {
	case slices.Contains(t.taskNames(t.Job()), target):
		return byTask
	case slices.Contains(t.groupNames(t.Job()), target):
		return byGroup
	case t.Job() == target:
		return byJob
	case t.launchedBy(target):
		return byParent
	case t.hasBareName(target):
		return byBareJob
	case t.hasID(target):
		return byID
	}
	return notAtAll
}

// hasBareName reports whether a target names the task without its namespace.
func (t *Task) hasBareName(target string) bool {
	id := t.Alloc.JobID
	return t.Job() != id && (id == target || launches(target, id) ||
		slices.Contains(t.taskNames(id), target) || slices.Contains(t.groupNames(id), target))
}

func (t *Task) hasID(target string) bool {
	id, task, named := strings.Cut(target, "/")
	return len(id) >= minID && strings.HasPrefix(t.Alloc.ID, strings.ToLower(id)) && (!named || task == t.Name)
}

// Find returns the tasks that a target matches, all of the same rank. There is at
// least one, or an *UnknownError.
func Find(tasks []*Task, target string) ([]*Task, error) {
	best := notAtAll
	var found []*Task
	for _, t := range tasks {
		switch r := t.rank(target); {
		case r == notAtAll || r > best:
		case r < best:
			best, found = r, []*Task{t}
		default:
			found = append(found, t)
		}
	}
	if len(found) == 0 {
		return nil, &UnknownError{Target: target, Near: nearest(target, tasks)}
	}
	return found, nil
}

// Selection is the set of tasks that targets match, including future tasks.
// Without targets it contains all tasks.
type Selection struct {
	targets []string
	ranks   []rank
}

// Select returns the selection of targets. Each of them must match a task;
// otherwise the error is an *UnknownError.
func Select(tasks []*Task, targets []string) (*Selection, error) {
	s := &Selection{targets: targets}
	for _, target := range targets {
		found, err := Find(tasks, target)
		if err != nil {
			return nil, err
		}
		s.ranks = append(s.ranks, found[0].rank(target))
	}
	return s, nil
}

// Of returns the selected ones of tasks, in their order.
func (s *Selection) Of(tasks []*Task) []*Task {
	return slices.DeleteFunc(slices.Clone(tasks), func(t *Task) bool {
		for i, target := range s.targets {
			if t.rank(target) == s.ranks[i] {
				return false
			}
		}
		return len(s.targets) > 0
	})
}

// ByID reports whether a target names the task by the ID of its allocation.
func (s *Selection) ByID(t *Task) bool {
	return slices.ContainsFunc(s.targets, func(target string) bool { return t.rank(target) == byID })
}

// OfJob reports whether a name of a job is that of the task's, with or without its
// namespace.
func (t *Task) OfJob(name string) bool { return event.NamesJob(name, t.JobKey()) }

// OfRun reports whether the task is one of the job with a key, or of a job that this
// has launched.
func (t *Task) OfRun(key string) bool { return t.JobKey() == key || t.launchedBy(event.JobName(key)) }

func (t *Task) launchedBy(job string) bool {
	id, ok := strings.CutSuffix(job, strings.TrimPrefix(t.Job(), t.Alloc.JobID))
	return ok && launches(id, t.Alloc.JobID)
}

// launches reports whether a job launched another one, given their IDs.
func launches(job, launched string) bool {
	return strings.HasPrefix(launched, job+"/dispatch-") || strings.HasPrefix(launched, job+"/periodic-")
}

// Pick returns the only running task that a target matches. The error is an
// *UnknownError if it matches none.
func Pick(tasks []*Task, target string) (*Task, error) {
	found, err := Find(tasks, target)
	if err != nil {
		return nil, err
	}
	running := slices.DeleteFunc(slices.Clone(found), func(t *Task) bool { return !t.Running() })
	if len(running) == 1 {
		return running[0], nil
	}
	labels := Labels(tasks)
	if len(running) > 1 {
		return nil, ambiguous(target, running, labels)
	}
	// Replaced tasks count only if there are no newer ones.
	if current := slices.DeleteFunc(slices.Clone(found), (*Task).Replaced); len(current) > 0 {
		found = current
	}
	return nil, NotRunning(target, found, labels)
}

// Labels returns the shortest unambiguous name of each task, which is a valid
// target. A replaced task has the label of its replacement.
func Labels(tasks []*Task) map[*Task]string {
	count := make(map[string]int)
	for _, t := range tasks {
		if !t.Replaced() {
			for _, name := range t.taskNames(t.Job()) {
				count[name]++
			}
		}
	}
	labels := make(map[*Task]string, len(tasks))
	for _, t := range tasks {
		names := t.taskNames(t.Job())
		i := slices.IndexFunc(names, func(name string) bool { return count[name] <= 1 })
		switch {
		case i >= 0:
			labels[t] = names[i]
		default: // the same job runs twice, or the task is unknown
			labels[t] = strings.TrimSuffix(t.Alloc.ID[:min(8, len(t.Alloc.ID))]+"/"+t.Name, "/")
		}
	}
	return labels
}

// Targets returns the sorted targets that start with a prefix: the short names
// of tasks, groups and jobs or, if none matches, all their names.
func Targets(tasks []*Task, prefix string) []string {
	labels := Labels(tasks)
	short := startingWith(prefix, tasks, func(t *Task) []string { return []string{labels[t], t.Alloc.TaskGroup, t.Job()} })
	if len(short) > 0 {
		return short
	}
	return startingWith(prefix, tasks, func(t *Task) []string { return append(t.taskNames(t.Job()), t.groupNames(t.Job())...) })
}

// Jobs returns the jobs with tasks whose ID starts with a prefix.
func Jobs(tasks []*Task, prefix string) []string {
	return startingWith(prefix, tasks, func(t *Task) []string { return []string{t.Job()} })
}

// TaskNames returns the names of tasks that start with a prefix.
func TaskNames(tasks []*Task, prefix string) []string {
	return startingWith(prefix, tasks, func(t *Task) []string { return []string{t.Name} })
}

// GroupNames returns the names of groups that start with a prefix.
func GroupNames(tasks []*Task, prefix string) []string {
	return startingWith(prefix, tasks, func(t *Task) []string { return []string{t.Alloc.TaskGroup} })
}

// startingWith returns the sorted names that start with a prefix.
func startingWith(prefix string, tasks []*Task, names func(*Task) []string) (found []string) {
	for _, t := range tasks {
		for _, name := range names(t) {
			if name != "" && strings.HasPrefix(name, prefix) {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// nearest returns the target that is most similar to a word, or "".
func nearest(word string, tasks []*Task) string {
	best, distance := "", min(len(word), max(2, len(word)/3)+1)
	names := Targets(tasks, "")
	for _, t := range tasks {
		names = append(names, t.taskNames(t.Job())...)
	}
	for _, target := range names {
		d := levenshtein.Distance(strings.ToLower(word), strings.ToLower(target), nil)
		if strings.HasPrefix(target, word) {
			d = 0 // a prefix of the name
		}
		if d < distance || d == distance && best != "" && len(target) == len(word) && len(best) != len(word) {
			best, distance = target, d // a typo is more often two swapped letters than a missing one
		}
	}
	return best
}

// Running returns the labels of running tasks, for a hint.
func Running(tasks []*Task) string {
	labels := Labels(tasks)
	var names []string
	for _, t := range tasks {
		if t.Running() && !slices.Contains(names, labels[t]) {
			names = append(names, labels[t])
		}
	}
	return Listed(names)
}
