package scaffold

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
)

type writer struct {
	Job
	strings.Builder

	batch bool
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// run writes a run; text writes what is in it.
func (w *writer) run(name string, text func()) {
	w.line("run %s {", quote(name))
	text()
	w.line("}\n")
}

// of writes a run about one of perhaps several groups.
func (w *writer) of(g *api.TaskGroup, name string, text func()) {
	if len(w.TaskGroups) > 1 {
		name = *g.Name + ": " + name
	}
	w.run(name, text)
}

func (w *writer) assert(condition, message string) {
	w.line("assert {\ncondition = %s\nerror_message = %s\n}", condition, quote(message))
}

// at names an allocation of a group.
func at(g *api.TaskGroup, index int) string { return fmt.Sprintf("%s[%d]", *g.Name, index) }

// quote returns a string of HCL.
func quote(s string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(s))
}

// length returns a duration as a string of HCL, without its last zeros: "2h".
func length(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return quote(text)
}

// seconds returns a time as a number of HCL.
func seconds(d time.Duration) string { return fmt.Sprintf("%g", d.Seconds()) }

// hooked returns the tasks with a hook, or the main tasks for none. Sidecars are
// those that run beside others until the end.
func hooked(g *api.TaskGroup, hook string, sidecar bool) (tasks []*api.Task) {
	for _, t := range g.Tasks {
		switch {
		case t.Lifecycle == nil && hook == "",
			t.Lifecycle != nil && t.Lifecycle.Hook == hook && t.Lifecycle.Sidecar == sidecar:
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// mainTask returns the task that leads a group, or else its first main task.
func mainTask(g *api.TaskGroup) *api.Task {
	tasks := hooked(g, "", false)
	if i := slices.IndexFunc(tasks, func(t *api.Task) bool { return t.Leader }); i >= 0 {
		return tasks[i]
	}
	if len(tasks) == 0 {
		return nil
	}
	return tasks[0]
}

// mainName is the name of the main task; empty for none.
func mainName(g *api.TaskGroup) string {
	if t := mainTask(g); t != nil {
		return t.Name
	}
	return ""
}

// taskOf returns the task of that name; nil for none.
func taskOf(g *api.TaskGroup, name string) *api.Task {
	i := slices.IndexFunc(g.Tasks, func(t *api.Task) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return g.Tasks[i]
}

// service is a service of a group or of one of its tasks.
type service struct {
	*api.Service
	task *api.Task // nil: of the group
}

func services(g *api.TaskGroup) (all []service) {
	for _, s := range g.Services {
		all = append(all, service{s, nil})
	}
	for _, t := range g.Tasks {
		for _, s := range t.Services {
			all = append(all, service{s, t})
		}
	}
	return all
}

// named reports whether a test can name a check: it is the only one of that name,
// which is known before it runs.
func named(g *api.TaskGroup, name string) bool {
	n := 0
	for _, s := range services(g) {
		for _, c := range s.Checks {
			if c.Name == name {
				n++
			}
		}
	}
	return n == 1 && name != "" && !strings.Contains(name, "${")
}

// Job is the job for which a test file is written.
type Job struct {
	*api.Job // canonical

	File  string    // as the test file names it
	Began time.Time // when virtual runs begin
}
