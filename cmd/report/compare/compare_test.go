package compare_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/report/compare"
	"taskrun/engine/leaf/event"
)

// story makes the events of a run. IDs and times differ between stories.
type story struct {
	id     string
	now    time.Time
	events []event.Event
	allocs int
}

func newStory(n int) *story {
	return &story{id: fmt.Sprintf("%08d-9c2f-4d39-8d5e-5b8f0c2f7d", n), now: time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC)}
}

func (s *story) after(d time.Duration) *story {
	s.now = s.now.Add(d)
	return s
}

func (s *story) add(a *event.Alloc, task string, body event.Body) *story {
	s.events = append(s.events, event.Event{Time: s.now, Alloc: a, Task: task, Body: body})
	return s.after(10 * time.Millisecond)
}

func (s *story) alloc(job, group string, index int) *event.Alloc {
	s.allocs++
	return &event.Alloc{Job: job, Group: group, Name: fmt.Sprintf("%s.%s[%d]", job, group, index), ID: fmt.Sprintf("%s%02d", s.id, s.allocs)}
}

func (s *story) task(a *event.Alloc, task, kind, message string, details ...string) *story {
	e := &api.TaskEvent{Type: kind, DisplayMessage: message, Details: map[string]string{}}
	for i := 0; i < len(details); i += 2 {
		e.Details[details[i]] = details[i+1]
	}
	return s.add(a, task, event.TaskEvent{TaskEvent: e})
}

func (s *story) starts(a *event.Alloc, task string, restarts uint64) *story {
	return s.task(a, task, api.TaskStarted, "Task started by client").
		add(a, task, event.TaskState{State: "running", Restarts: restarts})
}

func (s *story) ends(a *event.Alloc, task, code string, restarts uint64) *story {
	return s.task(a, task, api.TaskTerminated, "Exit Code: "+code, "exit_code", code).
		add(a, task, event.TaskState{State: "dead", Failed: code != "0", Restarts: restarts})
}

// simple is a run of one task, which sleeps.
func (s *story) simple(code string, sleep time.Duration) *story {
	a := s.alloc("web", "app", 0)
	s.add(a, "", event.AllocStatus{Status: "pending"}).task(a, "t", api.TaskReceived, "Task received by client")
	s.task(a, "t", api.TaskSetup, "in /data/"+a.ID+"/t on 127.0.0.1:2"+s.id[4:8]).starts(a, "t", 0)
	s.after(sleep).ends(a, "t", code, 0)
	status := map[bool]string{true: "complete", false: "failed"}[code == "0"]
	return s.add(a, "", event.AllocStatus{Status: status})
}

func (s *story) run() *compare.Run {
	b := compare.NewBuilder()
	for _, e := range s.events {
		b.Add(e)
	}
	return b.Run()
}

func (s *story) restarting(delay string) *story {
	a := s.alloc("web", "app", 0)
	d, err := time.ParseDuration(delay)
	if err != nil {
		panic(err)
	}
	return s.starts(a, "t", 0).
		task(a, "t", api.TaskRestarting, "Task restarting in "+delay, "start_delay", fmt.Sprint(int64(d))).
		starts(a, "t", 1).ends(a, "t", "0", 1)
}

// lifecycle is a run of a prestart task and a main one.
func (s *story) lifecycle(prestartFirst bool) *compare.Run {
	a := s.alloc("web", "app", 0)
	if prestartFirst {
		s.starts(a, "pre", 0).ends(a, "pre", "0", 0).starts(a, "main", 0).ends(a, "main", "0", 0)
	} else {
		s.starts(a, "pre", 0).starts(a, "main", 0).ends(a, "pre", "0", 0).ends(a, "main", "0", 0)
	}
	return s.run()
}

func arranged(r *compare.Run, hook string) *compare.Run {
	pre := &api.Task{Name: "pre"}
	if hook != "" {
		pre.Lifecycle = &api.TaskLifecycle{Hook: hook}
	}
	r.Arrange([]*api.Job{{ID: new("web"), TaskGroups: []*api.TaskGroup{{Name: new("app"), Tasks: []*api.Task{pre, {Name: "main"}}}}}})
	return r
}

func with(r *compare.Run, change func(*compare.Run)) *compare.Run {
	change(r)
	return r
}

func show(list []compare.Difference) (lines []string) {
	side := func(s *string) string {
		if s == nil {
			return "-"
		}
		return fmt.Sprintf("%q", *s)
	}
	for _, d := range list {
		lines = append(lines, fmt.Sprintf("%s: %s %s", d.Path(), side(d.A), side(d.B)))
	}
	return lines
}

func TestCompare(t *testing.T) {
	t.Parallel()
	variables := func(names ...string) func(*compare.Run) {
		return func(r *compare.Run) {
			r.Lacks = slices.DeleteFunc(r.Lacks, func(k compare.Kind) bool { return k == compare.Variable })
			for _, name := range names {
				r.Allocs[0].Tasks["t"].Values[compare.Key{Kind: compare.Variable, Name: name}] = "value"
			}
		}
	}
	deployment := func(s *story, status string) *compare.Run {
		return s.add(nil, "", event.Deployment{Job: "web", ID: s.id, Status: "running"}).add(nil, "", event.Deployment{Job: "web", ID: s.id, Status: status}).run()
	}
	check := func(s *story, statuses ...string) *compare.Run {
		a := s.alloc("web", "app", 0)
		s.add(a, "", event.Service{Name: "http", Registered: true, Port: 20000 + s.now.Day()})
		for _, status := range statuses {
			s.add(a, "", event.Check{Service: "http", Check: "up", Status: status, Output: s.id})
		}
		return s.run()
	}
	replaced := func(s *story, n int) *compare.Run {
		var last *event.Alloc
		for range n {
			a := s.alloc("web", "app", 0)
			status := event.AllocStatus{Status: "failed"}
			if last != nil {
				status.Replaces = last.ID
			}
			s.add(a, "", status)
			last = a
		}
		return s.run()
	}
	for name, c := range map[string]struct {
		a, b *compare.Run
		want []string
	}{
		"the same": {newStory(1).simple("0", time.Second).run(), newStory(2).simple("0", 1800*time.Millisecond).run(), nil},
		"an exit code": {
			newStory(1).simple("0", 0).run(), newStory(2).simple("3", 0).run(), []string{
				`allocs/app[0]#0/status: "complete" "failed"`,
				`allocs/app[0]#0/tasks/t/failed: "false" "true"`,
				`allocs/app[0]#0/tasks/t/exit_code: "0" "3"`,
				`allocs/app[0]#0/tasks/t/event/Terminated: "Exit Code: 0" "Exit Code: 3"`,
			},
		},
		"a duration": {
			newStory(1).simple("0", time.Second).run(), newStory(2).simple("0", 2*time.Second+30*time.Millisecond).run(),
			[]string{`allocs/app[0]#0/tasks/t/duration/until it ended: "1.02s" "2.05s"`},
		},
		"a short duration": {newStory(1).simple("0", 0).run(), newStory(2).simple("0", 200*time.Millisecond).run(), nil},
		"a delay": {
			newStory(1).restarting("1.2s").run(), newStory(2).restarting("1.6s").run(),
			[]string{`allocs/app[0]#0/tasks/t/event/Restarting: "Task restarting in 1.2s" "Task restarting in 1.6s"`},
		},
		"the jitter of a delay": {newStory(1).restarting("1s").run(), newStory(2).restarting("1.25s").run(), nil},
		"no delay": {
			newStory(1).restarting("0s").run(), newStory(2).restarting("1ms").run(),
			[]string{`allocs/app[0]#0/tasks/t/event/Restarting: "Task restarting in 0s" "Task restarting in 1ms"`},
		},
		"an order of lifecycles": {
			arranged(newStory(1).lifecycle(true), "prestart"), arranged(newStory(2).lifecycle(false), "prestart"),
			[]string{`allocs/app[0]#0/tasks/main/order/pre: "started after pre ended" "started before pre ended"`},
		},
		"an order of poststart":       {arranged(newStory(1).lifecycle(true), "poststart"), arranged(newStory(2).lifecycle(false), "poststart"), nil},
		"an order of independent":     {arranged(newStory(1).lifecycle(true), ""), arranged(newStory(2).lifecycle(false), ""), nil},
		"an order that nothing tells": {newStory(1).lifecycle(true), newStory(2).lifecycle(false), nil},
		"a replacement": {
			replaced(newStory(1), 1), replaced(newStory(2), 2),
			[]string{`allocs/app[0]#1/existence: - "failed"`},
		},
		"many replacements": {
			replaced(newStory(1), 150), replaced(newStory(2), 170),
			[]string{`allocs/app[0]#99/replacement/allocations of this name: "150" "170"`},
		},
		"a deployment": {
			deployment(newStory(1), "successful"), deployment(newStory(2), "failed"),
			[]string{`deployment/0: "successful" "failed"`},
		},
		"a check":               {check(newStory(1), "failure", "success"), check(newStory(2), "failure"), []string{`allocs/app[0]#0/check/http/up: "success" "failure"`}},
		"how long a check took": {check(newStory(1), "failure", "success"), check(newStory(2), "success", "failure"), nil},
		"variables": {
			with(newStory(1).simple("0", 0).run(), variables("A", "B")), with(newStory(2).simple("0", 0).run(), variables("B", "C")), []string{
				`allocs/app[0]#0/tasks/t/variable/A: "value" -`,
				`allocs/app[0]#0/tasks/t/variable/C: - "value"`,
			},
		},
		"variables of a task that was not started": {
			with(newStory(1).simple("0", 0).run(), variables("A")), with(newStory(2).simple("0", 0).run(), variables()), nil,
		},
		"variables of a run that has none": {with(newStory(1).simple("0", 0).run(), variables("A")), newStory(2).simple("0", 0).run(), nil},
		"the latest events": {
			with(newStory(1).restarting("1s").run(), func(r *compare.Run) { r.Ring = 1 }),
			with(newStory(2).restarting("1s").run(), func(r *compare.Run) { t := r.Allocs[0].Tasks["t"]; t.Events = t.Events[3:] }), nil,
		},
		"another job": {
			newStory(1).simple("0", 0).run(),
			with(newStory(2).simple("0", 0).run(), func(r *compare.Run) { r.Allocs[0].Job = "other" }), nil,
		},
		"one job of several": {
			newStory(1).simple("0", 0).run(),
			with(newStory(2).simple("0", 0).run(), func(r *compare.Run) {
				r.Allocs = append(r.Allocs, &compare.Alloc{Job: "other", Group: "app", Values: map[compare.Key]string{{Kind: compare.Status}: "running"}})
			}),
			[]string{`allocs/other/app[0]#0/existence: - "running"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, show(compare.Compare(c.a, c.b, compare.Defaults))); diff != "" {
				t.Error(diff)
			}
			symmetric(t, c.a, c.b)
		})
	}
}

// A task that one run lacks has a time in the other: that of its first event.
func TestTimeOfWhatIsMissing(t *testing.T) {
	t.Parallel()
	two := newStory(2).after(time.Second)
	two.simple("0", time.Second)
	more := two.alloc("web", "more", 0)
	for _, task := range []string{"a", "b"} {
		two.after(time.Second).task(more, task, api.TaskReceived, "Task received by client")
	}
	first := two.events[0].Time
	list := slices.DeleteFunc(compare.Compare(newStory(1).simple("0", time.Second).run(), two.run(), compare.Defaults),
		func(d compare.Difference) bool { return d.Kind != compare.Existence })
	i := slices.IndexFunc(two.events, func(e event.Event) bool { return e.Task == "a" })
	want := two.events[i].Time.Sub(first)
	if len(list) != 1 || list[0].AtA != compare.Unknown || list[0].AtB != want {
		t.Errorf("it is missing %+v, want it at %v", list, want)
	}
}

// symmetric fails unless exchanged runs have exchanged differences, and a run has
// no difference from itself.
func symmetric(t *testing.T, a, b *compare.Run) {
	t.Helper()
	ab, ba := compare.Compare(a, b, compare.Defaults), compare.Compare(b, a, compare.Defaults)
	for i, d := range ba {
		ba[i].A, ba[i].B, ba[i].AtA, ba[i].AtB = d.B, d.A, d.AtB, d.AtA
	}
	if diff := cmp.Diff(ab, ba); diff != "" {
		t.Errorf("not symmetric: %s", diff)
	}
	for _, r := range []*compare.Run{a, b} {
		if own := compare.Compare(r, r, compare.Defaults); len(own) > 0 {
			t.Errorf("differs from itself: %v", show(own))
		}
	}
}

// However long a task restarts, its memory is bounded, and so is a comparison.
func TestLongRun(t *testing.T) {
	t.Parallel()
	long := func(n, restarts int) *compare.Run {
		s := newStory(n)
		a := s.alloc("web", "app", 0)
		for i := range restarts {
			s.starts(a, "t", uint64(i)).task(a, "t", api.TaskTerminated, fmt.Sprintf("Exit Code: %d", i))
		}
		return s.run()
	}
	a, b := long(1, 1000), long(2, 1200)
	if n := len(a.Allocs[0].Tasks["t"].Events); n != 251 {
		t.Errorf("%d events are kept", n)
	}
	if got := len(compare.Compare(a, b, compare.Defaults)); got == 0 || got > 60 {
		t.Errorf("%d differences", got)
	}
	symmetric(t, a, b)
}

func TestNotCompared(t *testing.T) {
	t.Parallel()
	a, b := &compare.Run{Lacks: []compare.Kind{compare.Variable, compare.File}}, &compare.Run{Lacks: []compare.Kind{compare.Variable}}
	if got := compare.NotCompared(a, b); !slices.Equal(got, []compare.Kind{compare.File}) {
		t.Errorf("%v", got)
	}
}

// FuzzCompare compares runs with arbitrary events.
func FuzzCompare(f *testing.F) {
	f.Add("", "")
	f.Add("abcabc", "abccba")
	f.Add("aaabbbcccddd0123456789", "dddcccbbbaaa9876543210")
	f.Fuzz(func(t *testing.T, a, b string) {
		symmetric(t, arbitrary(1, a), arbitrary(2, b))
	})
}

// arbitrary makes a run of up to three allocations with two tasks each.
func arbitrary(n int, text string) *compare.Run {
	s := newStory(n)
	allocs := map[rune]*event.Alloc{}
	for i, r := range text {
		a := allocs[r%3]
		if a == nil || r%17 == 0 {
			a = s.alloc("web", "app", int(r%2))
			allocs[r%3] = a
		}
		task := string('s' + r%2)
		switch r % 7 {
		case 0:
			s.starts(a, task, uint64(i))
		case 1:
			s.ends(a, task, fmt.Sprint(r%4), uint64(i))
		case 2:
			s.task(a, task, api.TaskRestarting, fmt.Sprintf("Task restarting in %dms", r%50))
		case 3:
			s.task(a, task, strings.Repeat("x", int(r%3)), text[:min(i, 3)], "key", text[i:])
		case 4:
			s.add(a, "", event.AllocStatus{Status: text[i:]})
		case 5:
			s.add(a, "", event.AllocHealth{Healthy: r%2 == 0})
		case 6:
			s.after(time.Duration(r) * time.Millisecond)
		}
	}
	r := s.run()
	for _, a := range r.Allocs {
		for _, name := range slices.Sorted(maps.Keys(a.Tasks)) {
			a.Tasks[name].Lifecycle = new([]string{"prestart", "", "prestart sidecar", "poststart", "poststop"}[len(text)%5])
		}
	}
	return r
}

// Values that differ in any two environments and templates are no difference, and
// rendered templates are not shown.
func TestKeptEnvironments(t *testing.T) {
	t.Parallel()
	kept := func(n int, port, mode string) *compare.Run {
		s := newStory(n)
		a := s.alloc("web", "app", 0)
		s.starts(a, "t", 0)
		b := compare.NewBuilder()
		for _, e := range s.events {
			b.Add(e)
		}
		b.Knows(compare.Variable)
		b.Knows(compare.Template)
		b.SetVariables(a.ID, "t", []string{"EARLIER=" + port})
		b.SetVariables(a.ID, "t", []string{
			"NOMAD_PORT_http=" + port, "NOMAD_ADDR_http=127.0.0.1:" + port, "NOMAD_SHORT_ALLOC_ID=" + a.ID[:8],
			"NOMAD_TASK_DIR=/data/" + a.ID + "/t/local", "MODE=" + mode, "NUMBER=" + strconv.Itoa(41000+n),
			"PORT=" + port, "NAME=app-" + a.ID[:8],
		})
		b.SetVariables("unknown", "t", []string{"MODE=unknown"})
		b.AddTemplate(a.ID, "t", "local/x", "listen 127.0.0.1:"+port+" "+port+"\nmode "+mode+"\n")
		return b.Run()
	}
	a, b := kept(1, "20001", "fast"), kept(2, "31999", "slow")
	var got []string
	for _, d := range compare.Compare(a, b, compare.Defaults) {
		got = append(got, d.Path())
		if d.Kind == compare.Template && strings.Contains(*d.A+*d.B, "mode") {
			t.Errorf("the template is shown: %q, %q", *d.A, *d.B)
		}
	}
	if diff := cmp.Diff([]string{"allocs/app[0]#0/tasks/t/variable/MODE", "allocs/app[0]#0/tasks/t/variable/NUMBER", "allocs/app[0]#0/tasks/t/template/local/x"}, got); diff != "" {
		t.Error(diff)
	}
	if got := compare.Compare(a, kept(3, "25000", "fast"), compare.Defaults); len(got) != 1 { // NUMBER
		t.Errorf("%v", show(got))
	}
	if got := compare.Compare(kept(4, "80", "fast"), kept(5, "81", "fast"), compare.Defaults); len(got) != 5 {
		t.Errorf("of static ports %v", show(got))
	}
	if lacks := compare.NotCompared(a, newStory(3).simple("0", 0).run()); !slices.Equal(lacks, []compare.Kind{compare.Variable, compare.Template}) {
		t.Errorf("%v", lacks)
	}
}

// A run lasts from its first to its latest event; jobs are named only if there are
// several, and the state of a task says when it started and ended. Times before the
// first event are known.
func TestRunOfABuilder(t *testing.T) {
	t.Parallel()
	s := newStory(1)
	a := s.alloc("web", "app", 0)
	s.starts(a, "t", 0).after(time.Second).starts(a, "t", 1).ends(a, "t", "3", 1).add(a, "t", event.TaskState{State: "dead", Restarts: 1})
	b := compare.NewBuilder()
	if r := b.Run(); r.Took >= 0 && len(r.Allocs) > 0 {
		t.Errorf("a run without events: %+v", r)
	}
	for _, e := range s.events {
		b.Add(e)
	}
	r := b.Run()
	task := r.Allocs[0].Tasks["t"]
	if want := time.Second + 60*time.Millisecond; r.Took != want || r.Allocs[0].Job != "web" {
		t.Errorf("took %v, want %v, of job %q", r.Took, want, r.Allocs[0].Job)
	}
	if got := []time.Duration{task.Received, task.Started, task.Ended}; !slices.Equal(got, []time.Duration{compare.Unknown, 10 * time.Millisecond, time.Second + 50*time.Millisecond}) {
		t.Errorf("received, started and ended at %v", got)
	}
	if task.Values[compare.Key{Kind: compare.Failed}] != "true" || task.Values[compare.Key{Kind: compare.Restarts}] != "1" {
		t.Errorf("values %v", task.Values)
	}
	if r := compare.NewBuilder().Run(); r.Took != compare.Unknown {
		t.Errorf("a run that has not begun took %v", r.Took)
	}
	at := compare.NewBuilder()
	at.Add(event.Event{Time: s.events[0].Time, Alloc: a, Task: "t", Body: event.TaskState{State: "running"}})
	at.Add(event.Event{Time: s.events[1].Time, Alloc: a, Task: "t", Body: event.TaskState{State: "running"}})
	at.Add(event.Event{Time: s.events[0].Time, Alloc: a, Task: "u", Body: event.TaskState{State: "dead"}})
	at.Add(event.Event{Time: s.events[1].Time, Alloc: a, Task: "u", Body: event.TaskState{State: "dead"}})
	at.Add(event.Event{Time: s.events[0].Time.Add(-time.Second), Alloc: a, Task: "early", Body: event.TaskState{State: "running"}})
	if tasks := at.Run().Allocs[0].Tasks; tasks["t"].Started != 0 || tasks["u"].Ended != 0 || tasks["early"].Started != 0 {
		t.Errorf("started at %v, ended at %v, started early at %v", tasks["t"].Started, tasks["u"].Ended, tasks["early"].Started)
	}
}

// Deployments are numbered for each job, and how long a run took counts for the whole
// run alone.
func TestRunsOfSeveralJobs(t *testing.T) {
	t.Parallel()
	of := func(n int, status string, took time.Duration) *compare.Run {
		s := newStory(n)
		for _, job := range []string{"web", "db"} {
			s.add(s.alloc(job, "app", 0), "", event.AllocStatus{Status: status})
			s.add(nil, "", event.Deployment{Job: job, ID: job + "1", Status: "running"}).add(nil, "", event.Deployment{Job: job, ID: job + "1", Status: status}).add(nil, "", event.Deployment{Job: job, ID: job + "2", Status: status})
		}
		return with(s.run(), func(r *compare.Run) { r.Took = took })
	}
	got := show(compare.Compare(of(1, "complete", time.Second), of(2, "failed", 3*time.Second), compare.Defaults))
	want := []string{
		`duration/of the run: "1s" "3s"`,
		`jobs/db/deployment/0: "complete" "failed"`, `jobs/db/deployment/1: "complete" "failed"`,
		`allocs/db/app[0]#0/status: "complete" "failed"`,
		`jobs/web/deployment/0: "complete" "failed"`, `jobs/web/deployment/1: "complete" "failed"`,
		`allocs/web/app[0]#0/status: "complete" "failed"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
