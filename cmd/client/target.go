package client

import (
	"fmt"
	"slices"
	"strings"
)

// A target is how a user names tasks: [JOB/][GROUP[INDEX]/]TASK or any part of
// it, or the beginning of an allocation's ID, with /TASK behind it if need be.
// What a target can stand for is ranked: a task's own name comes before the
// name of its group, that before the job's, and an ID is last.
type rank int

const (
	byTask rank = iota
	byGroup
	byJob
	byParent // the periodic or parameterized job that launched the job
	byID
	notAtAll
)

// minID is how much of an allocation's ID a target must have, as in Nomad.
const minID = 2

// taskNames returns what the task itself may be called, shortest first.
func (t *Task) taskNames() []string {
	if t.Name == "" {
		return nil
	}
	job, group := t.Alloc.JobID, t.Alloc.TaskGroup
	instance := fmt.Sprintf("%s[%d]", group, t.Index)
	return []string{
		t.Name, group + "/" + t.Name, instance + "/" + t.Name,
		job + "/" + t.Name, job + "/" + group + "/" + t.Name, job + "/" + instance + "/" + t.Name,
		t.Alloc.Name + "/" + t.Name,
	}
}

// groupNames returns what the task's allocation may be called.
func (t *Task) groupNames() []string {
	job, group := t.Alloc.JobID, t.Alloc.TaskGroup
	instance := fmt.Sprintf("%s[%d]", group, t.Index)
	return []string{group, instance, job + "/" + group, job + "/" + instance, t.Alloc.Name}
}

// rank tells how a target stands for the task.
func (t *Task) rank(target string) rank {
	switch {
	case slices.Contains(t.taskNames(), target):
		return byTask
	case slices.Contains(t.groupNames(), target):
		return byGroup
	case t.Alloc.JobID == target:
		return byJob
	case strings.HasPrefix(t.Alloc.JobID, target+"/dispatch-"), strings.HasPrefix(t.Alloc.JobID, target+"/periodic-"):
		return byParent
	case t.hasID(target):
		return byID
	}
	return notAtAll
}

func (t *Task) hasID(target string) bool {
	id, task, named := strings.Cut(target, "/")
	return len(id) >= minID && strings.HasPrefix(t.Alloc.ID, strings.ToLower(id)) && (!named || task == t.Name)
}

// Find returns the tasks that a target stands for, all of the same rank. There
// is at least one, or an *UnknownError.
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

// Selection is what several targets stand for, now and when there are more
// tasks. Without targets it is everything.
type Selection struct {
	targets []string
	ranks   []rank
}

// Select settles what targets stand for. Each has to stand for a task, or the
// error is an *UnknownError.
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

// Pick returns the one running task that a target stands for. The error is an
// *UnknownError, an *AmbiguousError or a *NotRunningError.
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
		return nil, &AmbiguousError{Target: target, Matches: running, Labels: labels}
	}
	// What was replaced is of interest only when there is nothing newer.
	if current := slices.DeleteFunc(slices.Clone(found), (*Task).Replaced); len(current) > 0 {
		found = current
	}
	return nil, &NotRunningError{Target: target, Matches: found, Labels: labels}
}

// Labels names each task as shortly as it can be told from the others: each
// label is a target. Tasks that were replaced are called as those that run in
// their place.
func Labels(tasks []*Task) map[*Task]string {
	count := make(map[string]int)
	for _, t := range tasks {
		if !t.Replaced() {
			for _, name := range t.taskNames() {
				count[name]++
			}
		}
	}
	labels := make(map[*Task]string, len(tasks))
	for _, t := range tasks {
		names := t.taskNames()
		i := slices.IndexFunc(names, func(name string) bool { return count[name] <= 1 })
		switch {
		case i >= 0:
			labels[t] = names[i]
		default: // the same job runs twice, or the task is not known
			labels[t] = strings.TrimSuffix(t.Alloc.ID[:min(8, len(t.Alloc.ID))]+"/"+t.Name, "/")
		}
	}
	return labels
}

// Targets returns what can be a target and begins with a prefix, sorted: tasks,
// groups and jobs by their short names or, if there is no such, by any name.
func Targets(tasks []*Task, prefix string) []string {
	var short, all []string
	for t, label := range Labels(tasks) {
		short = append(short, label, t.Alloc.TaskGroup, t.Alloc.JobID)
		all = append(all, t.taskNames()...)
		all = append(all, t.groupNames()...)
	}
	if short = startingWith(short, prefix); len(short) > 0 {
		return short
	}
	return startingWith(all, prefix)
}

// Jobs returns the jobs that have tasks and whose ID begins with a prefix.
func Jobs(tasks []*Task, prefix string) []string {
	ids := make([]string, len(tasks))
	for i, t := range tasks {
		ids[i] = t.Alloc.JobID
	}
	return startingWith(ids, prefix)
}

// TaskNames returns the names of tasks that begin with a prefix.
func TaskNames(tasks []*Task, prefix string) []string {
	var names []string
	for _, t := range tasks {
		if t.Name != "" {
			names = append(names, t.Name)
		}
	}
	return startingWith(names, prefix)
}

func startingWith(names []string, prefix string) []string {
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
	slices.Sort(names)
	return slices.Compact(names)
}
