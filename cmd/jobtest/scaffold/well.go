package scaffold

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/health"
)

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

// probes says what the checks ask for.
func (w *writer) probes() {
	for _, g := range w.TaskGroups {
		if fold.Instances(w.Job.Job, g) == 0 {
			continue
		}
		for _, s := range services(g) {
			for _, c := range s.Checks {
				if u, err := url.Parse(c.Path); c.Type == "http" && named(g, c.Name) && err == nil && !strings.Contains(c.Path, "${") {
					w.assert(fmt.Sprintf("endswith(check(%s).target, %s)", quote(at(g, 0)+"/"+c.Name), quote(u.String())), fmt.Sprintf("check %s asks for another path", c.Name))
				}
			}
		}
	}
}
