// Package scaffold writes the first test file of a job: what the job does today, in
// runs that pass as they are. It is pure.
package scaffold

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/health"
	"taskrun/jobspec"
)

// Job is what a test file is written for.
type Job struct {
	*api.Job // canonical

	File  string    // as the test file names it
	Began time.Time // when virtual runs begin
}

// Text returns a test file in the canonical style. It has a run in which all goes
// well, and one for each thing that can go wrong: a restart policy, a task before
// others, a check. The last one stops the job.
func (j Job) Text() []byte {
	w := &writer{Job: j, batch: *j.Type == api.JobTypeBatch || *j.Type == api.JobTypeSysbatch}
	w.line(`# What %s does today. Keep the runs that matter, and say what else must hold:`, j.File)
	w.line(`# taskrun help test`)
	w.line(`job = %s`, quote(j.File))
	w.line("")
	w.well()
	if !j.IsPeriodic() && !j.IsParameterized() { // the jobs that they launch behave alike
		for _, g := range j.TaskGroups {
			if fold.Instances(j.Job, g) == 0 {
				continue
			}
			w.prestarts(g)
			w.policies(g)
			w.checks(g)
		}
		w.stop()
	}
	formatted, diagnostics := jobspec.Format(jobspec.Source{Name: "test", Text: []byte(w.String())})
	if len(diagnostics) > 0 {
		panic(diagnostics) // all names are quoted
	}
	return formatted
}

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

// well is the run in which nothing goes wrong.
func (w *writer) well() {
	switch {
	case w.IsParameterized():
		w.run("a dispatched job ends well", w.dispatch)
	case w.IsPeriodic():
		w.run("the job is launched on schedule", w.periodic)
	case w.batch:
		w.run("the job ends well", func() {
			w.order()
			w.assert(`run.status == "complete" && run.exit_code == 0`, "the job does not end well")
			w.counts()
			w.sequence()
		})
	case health.NewDeployment(w.Job.Job, w.Began) != nil && health.ByHand(w.Job.Job) == "":
		w.run("the job becomes healthy", func() {
			w.order()
			w.line(`until = "healthy"`)
			w.assert(`deployment().status == "successful"`, "the deployment does not succeed")
			w.counts()
			w.sequence()
			w.probes()
		})
	default:
		w.run("the job starts", func() {
			w.order()
			w.line(`until = "10m"`)
			w.counts()
			w.sequence()
			w.probes()
		})
	}
}

// dispatch has the job dispatched with all that it needs.
func (w *writer) dispatch() {
	p := w.ParameterizedJob
	var meta []string
	for _, key := range p.MetaRequired {
		meta = append(meta, fmt.Sprintf("%s = %s", quote(key), quote("x")))
	}
	var with []string
	if p.Payload == "required" {
		with = append(with, `payload = "x"`)
	}
	if len(meta) > 0 {
		with = append(with, "meta = { "+strings.Join(meta, ", ")+" }")
	}
	w.order()
	w.line("until = %s", quote("1h"))
	w.line("at \"1s\" {\ndispatch = { %s }\n}", strings.Join(with, ", "))
	w.launched()
}

// periodic waits for the first launch.
func (w *writer) periodic() {
	next, err := w.launch()
	if err != nil || next > longestWait {
		w.line("until = \"1h\"")
		return
	}
	w.order()
	w.line("until = %s", length(next+time.Hour))
	w.launched()
}

// longestWait is how far away the launch of a periodic job may be: virtual time has
// a limit.
const longestWait = 6 * 24 * time.Hour

// launch returns how long after the beginning the first job is launched.
func (w *writer) launch() (first time.Duration, err error) {
	zone, err := w.Periodic.GetLocation()
	if err != nil {
		return 0, err
	}
	next, err := w.Periodic.Next(w.Began.In(zone))
	if err == nil && next.IsZero() {
		err = errors.New("it launches no job after the tests begin")
	}
	return next.Sub(w.Began), err
}

func (w *writer) launched() {
	for _, g := range w.TaskGroups {
		if t := mainTask(g); t != nil && fold.Instances(w.Job.Job, g) > 0 {
			target := at(g, 0) + "/" + t.Name
			w.assert(fmt.Sprintf(`!task(%s).failed && task(%[1]s).exit_code == 0`, quote(target)), t.Name+" does not end well")
		}
	}
	w.sequence()
}

// counts says how many allocations there are.
func (w *writer) counts() {
	for _, g := range w.TaskGroups {
		n := fold.Instances(w.Job.Job, g)
		w.assert(fmt.Sprintf(`length(allocs(%s)) == %d`, quote(*g.Name), n), fmt.Sprintf("group %s has another number of allocations", *g.Name))
	}
}

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

// order gives tasks a time to run, so that a wrong order shows.
func (w *writer) order() {
	for _, g := range w.TaskGroups {
		for _, t := range slices.Concat(hooked(g, api.TaskLifecycleHookPrestart, false), hooked(g, api.TaskLifecycleHookPoststart, false)) {
			w.line("task %s {\nrun_for = \"1s\"\n}", quote(*g.Name+"/"+t.Name))
		}
		if !w.batch && !w.IsPeriodic() && !w.IsParameterized() {
			continue
		}
		for _, t := range hooked(g, "", false) {
			w.line("task %s {\nrun_for = \"5s\"\n}", quote(*g.Name+"/"+t.Name))
		}
	}
}

// sequence says in which order the tasks of each group run.
func (w *writer) sequence() {
	for _, g := range w.TaskGroups {
		main := mainTask(g)
		if main == nil || fold.Instances(w.Job.Job, g) == 0 {
			continue
		}
		target := func(t *api.Task) string { return quote(at(g, 0) + "/" + t.Name) }
		after := func(later *api.Task, what string, earlier *api.Task, when string) {
			w.assert(fmt.Sprintf("event(%s, %q)[0].at >= event(%s, %q)[0].at", target(later), what, target(earlier), when),
				fmt.Sprintf("%s does not wait for %s", later.Name, earlier.Name))
		}
		for _, t := range hooked(g, api.TaskLifecycleHookPrestart, false) {
			after(main, api.TaskStarted, t, api.TaskTerminated)
		}
		for _, t := range hooked(g, api.TaskLifecycleHookPrestart, true) {
			after(main, api.TaskStarted, t, api.TaskStarted)
		}
		for _, sidecar := range []bool{false, true} {
			for _, t := range hooked(g, api.TaskLifecycleHookPoststart, sidecar) {
				after(t, api.TaskStarted, main, api.TaskStarted)
			}
		}
		if w.batch {
			for _, t := range hooked(g, api.TaskLifecycleHookPoststop, false) {
				after(t, api.TaskStarted, main, api.TaskTerminated)
			}
		}
	}
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
