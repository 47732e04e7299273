package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/diagnostic"
)

// showHelp explains the flags of shownTasks for commands that show a run.
const showHelp = `--task and --group select the tasks whose output and steps are shown. They may
be repeated and combined: --group web --task db shows the tasks db of group web.
Failures and restarts of the other tasks are shown, too, because they decide how
the run ends; the closing table counts those that did not fail. The status line
counts all tasks. With --output json the flags select the objects of type "log";
the others are complete.`

// shownTasks are the flags that choose what is shown of a run, and behind which
// prefix.
type shownTasks struct {
	tasks, groups nameList
	prefix        ui.Prefix
}

// nameList is the value of a flag that can be repeated.
type nameList []string

func (l *nameList) String() string { return strings.Join(*l, ",") }

// Set adds a name.
func (l *nameList) Set(name string) error { return l.Append(name) }

// Type names the value in help texts.
func (l *nameList) Type() string { return "name" }

// Append, Replace and GetSlice let the environment and the config file have lists.
func (l *nameList) Append(name string) error {
	if name == "" {
		return fmt.Errorf("%q is not a name", name)
	}
	*l = append(*l, name)
	return nil
}

// Replace replaces all names.
func (l *nameList) Replace(names []string) error {
	*l = names
	return nil
}

// GetSlice returns the names.
func (l *nameList) GetSlice() []string { return *l }

func (s *shownTasks) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(&s.tasks, "task", "show only this `task`: [JOB/][GROUP[INDEX]/]TASK (may be repeated)")
	flags.Var(&s.groups, "group", "show only tasks of this `group`: [JOB/]GROUP[INDEX] (may be repeated)")
	bindChoice(cmd, flags, "prefix", "before each line of output: none, task, or alloc (the ID of the allocation, and the task)",
		ui.Choice[ui.Prefix]{To: &s.prefix, Kind: "prefix", Values: []ui.Prefix{ui.PrefixNone, ui.PrefixTask, ui.PrefixAlloc}})
	for _, name := range []string{"task", "group", "prefix"} {
		flags.Lookup(name).Annotations = map[string][]string{inGroup: {"Output"}}
	}
}

// check returns an error for the first name that no task, or no group, of the jobs
// has.
func (s *shownTasks) check(jobs []*api.Job) error {
	var k knownTasks
	for _, j := range jobs {
		job := event.JobName(*j.ID)
		for _, g := range j.TaskGroups {
			for i := range *g.Count {
				for _, t := range g.Tasks {
					k.add(job, *g.Name, i, t.Name)
				}
			}
		}
	}
	return k.check(s, verdict.Usage)
}

// knownTasks are the names that --task and --group may have.
type knownTasks struct{ tasks, groups known }

func (k *knownTasks) add(job, group string, index int, task string) {
	k.groups.add(event.GroupNames(job, group, index))
	k.tasks.add(event.TaskNames(job, group, index, task))
}

// check returns an error with an exit code for the first unknown name.
func (k *knownTasks) check(s *shownTasks, code int) error {
	if err := k.tasks.check("task", s.tasks, code); err != nil {
		return err
	}
	return k.groups.check("group", s.groups, code)
}

// known are names of tasks or groups.
type known struct {
	all   map[string]bool
	short []string // the shortest one of each, for hints
}

func (k *known) add(names []string) {
	if k.all == nil {
		k.all = map[string]bool{}
	}
	if !k.all[names[0]] {
		k.short = append(k.short, names[0])
	}
	for _, name := range names {
		k.all[name] = true
	}
}

func (k *known) check(kind string, names []string, code int) error {
	for _, name := range names {
		if k.all[name] {
			continue
		}
		slices.Sort(k.short)
		hint := kind + "s are: " + client.Listed(k.short)
		if near := diagnostic.Nearest(name, k.short); near != "" {
			hint = fmt.Sprintf("did you mean %q? %s", near, hint)
		}
		e := &exit.Error{Code: code, Err: fmt.Errorf("no %s matches %q", kind, name)}
		return e.WithHint("%s", hint)
	}
	return nil
}

// filter returns which tasks and allocations of the jobs are shown, or nil for all.
// Its result is for one goroutine.
func (s *shownTasks) filter(jobs []*api.Job) func(a *event.Alloc, task string) bool {
	if len(s.tasks) == 0 && len(s.groups) == 0 {
		return nil
	}
	type key struct{ alloc, task string }
	decided := map[key]bool{}
	return func(a *event.Alloc, task string) bool {
		k := key{a.Name, task}
		shown, ok := decided[k]
		if !ok {
			shown = s.shows(a, task, jobs)
			decided[k] = shown
		}
		return shown
	}
}

// shows reports whether a task is shown or, without a task, an allocation of which a
// task is.
func (s *shownTasks) shows(a *event.Alloc, task string, jobs []*api.Job) bool {
	if task == "" && len(s.tasks) > 0 {
		return slices.ContainsFunc(groupTasks(a, jobs), func(t *api.Task) bool { return s.shows(a, t.Name, jobs) })
	}
	selects := func(job string) bool { return s.selects(event.JobName(job), a.Group, a.Index(), task) }
	return selects(a.Job) || a.Parent != "" && selects(a.Parent)
}

// selects reports whether a task is shown or, without a task, whether its group is.
func (s *shownTasks) selects(job, group string, index int, task string) bool {
	return (task == "" || s.tasks.selects(event.TaskNames(job, group, index, task))) && s.groups.selects(event.GroupNames(job, group, index))
}

// selects reports whether a list has one of the names. One without names has all.
func (l nameList) selects(names []string) bool {
	return len(l) == 0 || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(l, name) })
}

// groupTasks returns the tasks of an allocation's group.
func groupTasks(a *event.Alloc, jobs []*api.Job) []*api.Task {
	for _, j := range jobs {
		if g := j.LookupTaskGroup(a.Group); a.Of(*j.ID) && g != nil {
			return g.Tasks
		}
	}
	return nil
}
