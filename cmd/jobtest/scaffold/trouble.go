package scaffold

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/health"
)

// crash is how long a task runs that crashes.
const crash = time.Second

// prestarts has each task fail that others wait for.
func (w *writer) prestarts(g *api.TaskGroup) {
	main := mainTask(g)
	if main == nil {
		return
	}
	for _, t := range hooked(g, api.TaskLifecycleHookPrestart, false) {
		w.of(g, fmt.Sprintf("%s does not start if %s fails", main.Name, t.Name), func() {
			w.line("task %s {\nexit_code = 1\n}", quote(*g.Name+"/"+t.Name))
			w.line("until = %s", length(w.exhausted(t.RestartPolicy)))
			w.assert(fmt.Sprintf("length(event(%s, %q)) == 0", quote(at(g, 0)+"/"+main.Name), api.TaskStarted), main.Name+" does not wait for "+t.Name)
			if fails(t.RestartPolicy) {
				w.assert(fmt.Sprintf(`alloc(%s).status == "failed"`, quote(at(g, 0)+"#1")), "the allocation continues without "+t.Name)
			}
		})
	}
}

// policies has a main task crash for each restart policy of a group.
func (w *writer) policies(g *api.TaskGroup) {
	var known []api.RestartPolicy
	for _, t := range hooked(g, "", false) {
		p := t.RestartPolicy
		same := func(k api.RestartPolicy) bool {
			return *k.Attempts == *p.Attempts && *k.Delay == *p.Delay && *k.Interval == *p.Interval && *k.Mode == *p.Mode
		}
		if slices.ContainsFunc(known, same) {
			continue
		}
		known = append(known, *p)
		if usual := *p.Delay + *p.Delay/8 + crash; fails(p) && time.Duration(*p.Attempts)*usual >= *p.Interval {
			w.line("# %s may crash more often in %v than it is restarted, so no run tests that.\n", t.Name, *p.Interval)
			continue
		}
		w.of(g, w.crashing(t), func() { w.policy(g, t) })
	}
}

func (w *writer) crashing(t *api.Task) string {
	p := t.RestartPolicy
	restarts := fmt.Sprintf("%d times", *p.Attempts)
	if *p.Attempts == 1 {
		restarts = "once"
	}
	switch {
	case *p.Mode == api.RestartPolicyModeDelay:
		return fmt.Sprintf("%s is restarted as long as it crashes", t.Name)
	case *p.Attempts == 0:
		return fmt.Sprintf("%s fails when it crashes", t.Name)
	}
	return fmt.Sprintf("%s is restarted %s, then fails", t.Name, restarts)
}

func (w *writer) policy(g *api.TaskGroup, t *api.Task) {
	p, task := t.RestartPolicy, quote(at(g, 0)+"#1/"+t.Name)
	w.line("task %s {\nrun_for = %s\nexit_code = 1\n}", quote(*g.Name+"/"+t.Name), length(crash))
	if time.Duration(*p.Attempts)*longest(p) >= *p.Interval { // chance decides which interval has all restarts
		w.line("until = \"24h\"")
		failed := fmt.Sprintf("task(%s).failed", task)
		if !fails(p) {
			failed = "!" + failed
		}
		w.assert(failed, "the restart policy of "+t.Name+" has changed")
		return
	}
	w.line("until = %s", length(w.exhausted(p)))
	if fails(p) {
		w.assert(fmt.Sprintf("task(%s).failed && task(%[1]s).restarts == %d", task, *p.Attempts), "the restart policy of "+t.Name+" has changed")
		return
	}
	w.assert(fmt.Sprintf("!task(%s).failed && task(%[1]s).restarts > %d", task, *p.Attempts), "the restart policy of "+t.Name+" has changed")
}

func fails(p *api.RestartPolicy) bool { return *p.Mode == api.RestartPolicyModeFail }

// longest is the time from one crash to the next one: the delay may be a quarter
// longer than the policy says.
func longest(p *api.RestartPolicy) time.Duration { return *p.Delay + *p.Delay/4 + crash }

// exhausted is when a task that crashes is sure to have had all its restarts, and
// where it does not fail then, those of the next interval.
func (w *writer) exhausted(p *api.RestartPolicy) time.Duration {
	d := time.Duration(*p.Attempts+1)*longest(p) + time.Minute
	if !fails(p) {
		d = 2 * (d + *p.Interval)
	}
	return d.Round(time.Minute)
}

// checks has each check fail.
func (w *writer) checks(g *api.TaskGroup) {
	if w.batch {
		return // nothing waits for them
	}
	for _, s := range services(g) {
		for _, c := range s.Checks {
			if named(g, c.Name) {
				w.of(g, fmt.Sprintf("check %s fails", c.Name), func() { w.check(g, s, c) })
			}
		}
	}
}

func (w *writer) check(g *api.TaskGroup, s service, c api.ServiceCheck) {
	w.line("check %s {\nstatus = \"critical\"\n}", quote(c.Name))
	check, alloc := quote(at(g, 0)+"/"+c.Name), quote(at(g, 0)+"#1")
	policy, watched := health.PolicyOf(*w.Type, g)
	ignored := c.OnUpdate == api.OnUpdateIgnore
	until := 10 * time.Minute
	if watched {
		until += policy.HealthyDeadline
	}
	var restarts time.Duration
	if r := c.CheckRestart; r != nil && r.Limit > 0 {
		restarts = *r.Grace + time.Duration(r.Limit+1)*c.Interval
		until += restarts
	}
	w.line("until = %s", length(until))
	switch {
	case restarts > 0:
		task := s.task
		if task == nil {
			task = taskOf(g, cmp.Or(c.TaskName, s.TaskName, mainName(g)))
		}
		if task != nil {
			w.assert(fmt.Sprintf("length(event(%s, %q)) > 0", quote(at(g, 0)+"/"+task.Name), api.TaskRestartSignal), fmt.Sprintf("check %s restarts nothing", c.Name))
		}
	case watched && policy.Checks && !ignored:
		w.assert(fmt.Sprintf("alloc(%s).healthy == false", alloc), fmt.Sprintf("the allocation is healthy although check %s fails", c.Name))
	case watched:
		w.assert(fmt.Sprintf("alloc(%s).healthy == true", alloc), fmt.Sprintf("the allocation waits for check %s", c.Name))
	default:
		w.assert(fmt.Sprintf(`check(%s).status == "failure"`, check), fmt.Sprintf("check %s does not fail", c.Name))
	}
}

// stop stops the job: its tasks ignore the signal for as long as they may.
func (w *writer) stop() {
	long := time.Minute
	type killed struct {
		group, task string
		wait        time.Duration
	}
	var all []killed
	for _, g := range w.TaskGroups {
		if fold.Instances(w.Job.Job, g) == 0 {
			continue
		}
		for _, t := range hooked(g, "", false) {
			all = append(all, killed{*g.Name, t.Name, *t.KillTimeout})
			long = max(long, *t.KillTimeout+time.Minute)
		}
	}
	if len(all) == 0 {
		return
	}
	w.run("tasks that ignore the signal are killed in time", func() {
		for _, k := range all {
			w.line("task %s {\nrun_for = \"24h\"\nkill_after = %s\n}", quote(k.group+"/"+k.task), length(2*long))
		}
		w.line("at \"10m\" {\nstop = %s\n}", quote(*w.ID))
		for _, k := range all {
			target := quote(k.group + "[0]/" + k.task)
			w.assert(fmt.Sprintf("task(%[1]s).end - event(%[1]s, %[2]q)[0].at == %[3]s", target, api.TaskKilling, seconds(k.wait)),
				"the kill_timeout of "+k.task+" has changed")
		}
		for _, g := range w.TaskGroups {
			if main := mainTask(g); main != nil && fold.Instances(w.Job.Job, g) > 0 {
				for _, t := range hooked(g, api.TaskLifecycleHookPoststop, false) {
					w.assert(fmt.Sprintf("event(%s, %q)[0].at >= event(%s, %q)[0].at", quote(at(g, 0)+"/"+t.Name), api.TaskStarted, quote(at(g, 0)+"/"+main.Name), api.TaskTerminated),
						t.Name+" does not wait for "+main.Name)
				}
			}
		}
	})
}
