package ui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/event"
)

// The widest of the first columns give way first, down to one character. Where
// that is not enough, nothing is cut.
func TestTablesFit(t *testing.T) {
	t.Parallel()
	for width, want := range map[int][]string{
		30: {"abcdef  ABCDEFGHIJ  \\x1b  1234"},
		27: {"abcdef  ABC…HIJ  \\x1b  1234"},
		23: {"a…ef  AB…IJ  \\x1b  1234"},
		16: {"…  …  \\x1b  1234"},
		15: {"abcdef  ABCDEFGHIJ  \\x1b  1234"},
	} {
		rows := []row{{[]string{"abcdef", "ABCDEFGHIJ", "\x1b", "1234"}, func(s string) string { return s }}}
		fit(rows, width, 2)
		got := align(rows, 2)
		if !slices.Equal(got, want) {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
}

// A text loses its middle, but for the index of a group.
func TestShorten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"abcdefghij", 10, "abcdefghij"},
		{"abcdefghij", 9, "abcd…ghij"},
		{"abcdefghij", 8, "abc…ghij"},
		{"abcdefghij", 2, "…j"},
		{"abcdefghij", 1, "…"},
		{"group[12]/task", 14, "group[12]/task"},
		{"group[12]/task", 13, "g…up[12]/task"},
		{"group[12]/task", 11, "g…p[12]/t…k"},
		{"group[12]/task", 10, "grou…/task"},
		{"g[12]/a-long-task", 13, "g[12]/a-l…ask"},
		{"a-long-group[12]/t", 14, "a-l…roup[12]/t"},
		{"group[x]/task", 12, "group…]/task"},
		{"group[12]task", 12, "group…2]task"},
	} {
		if got := shorten(c.text, c.limit); got != c.want {
			t.Errorf("%s in %d: %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}

// Labels are at most a quarter of a terminal, and their column is no wider.
func TestLabelsFit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 40)
	for columns, want := range map[int]int{0: 40, 20: 8, 32: 8, 36: 9, 80: 20, 96: 24, 200: 24} {
		l := newLabels([]*api.Job{job("j", 1, task(long), task("\x1b"))}, columns)
		if got := len([]rune(l.of("j.app[0]", long))); got != want || l.width != min(want, maxLabel) {
			t.Errorf("%d columns: a label of %d in a column of %d, want %d", columns, got, l.width, want)
		}
		if got := l.padded(l.of("j.app[0]", "\x1b")); got != `\x1b`+strings.Repeat(" ", min(want, maxLabel)-4) {
			t.Errorf("%d columns: %q", columns, got)
		}
	}
	if got := newLabels(nil, 0).of("", "t\x1b"); got != `t\x1b` {
		t.Errorf("a task of no allocation is %q", got)
	}
}

// Indexes tell the tasks of two jobs apart only where both have such a group.
func TestLabelsOfSeveralJobs(t *testing.T) {
	t.Parallel()
	jobs := []*api.Job{job("a", 2, task("web")), job("b", 2, task("web"), task("db")), job("c", 1, task("web"))}
	l := newLabels(jobs, 0)
	for key, want := range map[labelKey]string{
		{"a.app[1]", "web"}: "a/app[1]/web", {"b.app[0]", "web"}: "b/app[0]/web", {"b.app[1]", "db"}: "app[1]/db", {"c.app[0]", "web"}: "web",
	} {
		if got := l.of(key.alloc, key.task); got != want {
			t.Errorf("%v: %q, want %q", key, got, want)
		}
	}
}

// ps names the namespaces of jobs where there are several, and lists jobs that
// have no tasks yet.
func TestStatusOfSeveralNamespaces(t *testing.T) {
	t.Parallel()
	st := Status{
		Jobs:  []JobStatus{{Job: "a", Namespace: "x", Status: "running"}, {Job: "a", Namespace: "y", Status: "pending"}, {Job: "b", Status: "dead"}},
		Tasks: []TaskStatus{{Job: "a", Namespace: "x", Label: "t", Task: "t", State: "running", Failed: true, AllocID: "1234"}},
	}
	for width, want := range map[int]string{
		0:  "JOB  TASK  STATE    ALLOC  EXIT  RESTARTS  DURATION\nx:a  t     running  1234      -         0         -\ny:a  -     pending  -         -         -         -\nb    -     dead     -         -         -         -\n",
		59: "JOB  TASK  STATE    EXIT  RST  TIME\nx:a  t     running     -    0     -\ny:a  -     pending     -    -     -\nb    -     dead        -    -     -\n",
	} {
		s, out, _ := Test()
		s.OutTerm, s.width = width > 0, func() int { return width }
		if err := WriteStatus(s, Plain, ColourNever, st); err != nil {
			t.Error(err)
		}
		written(t, out, want)
	}
	st.Jobs[1].Namespace, st.Jobs = "x", st.Jobs[:2]
	if got := st.jobs()("x", "a"); got != "a" {
		t.Errorf("in one namespace it is %q", got)
	}
}

// A task that failed once and runs again is shown running.
func TestPaintOfTasks(t *testing.T) {
	t.Parallel()
	style := newStyle(true)
	for _, c := range []struct {
		task  TaskStatus
		state string
		paint func(string) string
	}{
		{TaskStatus{State: "running", Failed: true}, "running", style.Good},
		{TaskStatus{State: "pending", Failed: true}, "pending", style.Waiting},
		{TaskStatus{State: "dead", Failed: true}, "failed", style.Bad},
		{TaskStatus{State: "dead"}, "dead", style.Quiet},
	} {
		if got := c.task.state(); got != c.state || c.task.paint(style)("x") != c.paint("x") {
			t.Errorf("%+v: %s, painted %q", c.task, got, c.task.paint(style)("x"))
		}
	}
}

// The time a task took is from its first start to its end, restarts included.
func TestTook(t *testing.T) {
	t.Parallel()
	m, a := NewModel(nil), alloc("j", 0, "11111111")
	var at time.Time
	say := func(after time.Duration, state event.TaskState, want time.Duration) *Task {
		t.Helper()
		at = begin.Add(after)
		m.Apply(event.Event{Time: at, Alloc: a, Task: "t", Body: state})
		of := m.Allocs[0].Tasks[0]
		if got := of.Took(at.Add(time.Second)); got != want {
			t.Errorf("after %v it took %v, want %v", after, got, want)
		}
		return of
	}
	say(0, event.TaskState{State: "pending"}, 0)
	say(2*time.Second, event.TaskState{State: "running"}, time.Second)
	if of := say(3*time.Second, event.TaskState{State: "running"}, 2*time.Second); !of.Running.Equal(begin.Add(2 * time.Second)) {
		t.Errorf("said twice to run, it runs since %v", of.Running)
	}
	if of := say(4*time.Second, event.TaskState{State: "running", Restarts: 1}, 3*time.Second); !of.Running.Equal(begin.Add(4 * time.Second)) {
		t.Errorf("restarted, it runs since %v", of.Running)
	}
	say(5*time.Second, event.TaskState{State: "dead"}, 3*time.Second)
	say(9*time.Second, event.TaskState{State: "dead", Failed: true}, 3*time.Second)
	m.Apply(event.Event{Time: begin.Add(time.Minute), Body: event.Notice{}})
	if !m.Latest.Equal(begin.Add(time.Minute)) || len(m.Allocs) != 1 {
		t.Errorf("the latest event was at %v, of %d allocations", m.Latest, len(m.Allocs))
	}
}

// What counts is the earliest failure of an allocation that nothing replaced.
func TestFirstFailure(t *testing.T) {
	t.Parallel()
	m := NewModel(nil)
	at := begin
	fail := func(a *event.Alloc, task string) {
		at = at.Add(time.Second)
		m.Apply(event.Event{Time: at, Alloc: a, Task: task, Body: event.TaskState{State: "dead", Failed: true}})
	}
	status := func(a *event.Alloc, status, replaces string) {
		m.Apply(event.Event{Time: at, Alloc: a, Body: event.AllocStatus{Status: status, Replaces: replaces, Retry: -1}})
	}
	check := func(when, want string) {
		t.Helper()
		got := ""
		if f := m.FirstFailure(); f != nil {
			got = f.Task.Alloc.Name + " " + f.Task.Name
		}
		if got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	a, b, c := alloc("a", 0, "1"), alloc("b", 0, "2"), alloc("b", 0, "3")
	check("at first", "")
	status(b, "running", "")
	fail(b, "y")
	check("while it runs", "")
	status(a, "running", "")
	fail(a, "x")
	fail(a, "z")
	status(a, "failed", "")
	check("when one has failed", "a.app[0] x")
	status(b, "failed", "")
	check("when an earlier one has", "b.app[0] y")
	status(c, "running", b.ID)
	check("when that was replaced", "a.app[0] x")
	fail(c, "y")
	status(c, "failed", b.ID)
	check("when that failed as well", "b.app[0] y")
	if n := m.byID[c.ID].replacements(); n != 1 || m.byID[b.ID].Last() != m.byID[c.ID] {
		t.Errorf("%d replacements", n)
	}
}

// A plan shows what is added, deleted and changed, and all else by its name.
func TestPlan(t *testing.T) {
	t.Parallel()
	fields := []*api.FieldDiff{
		{Type: "Added", Name: "New", New: "n"}, {Type: "Deleted", Name: "Old", Old: "o"},
		{Type: "Edited", Name: "Count", Old: "1", New: "2\x1b", Annotations: []string{"forces create", "in-place"}}, {Type: "None", Name: "Same", Old: "s", New: "s"},
	}
	object := []*api.ObjectDiff{{Type: "Added", Name: "Check", Fields: fields[:1], Objects: []*api.ObjectDiff{{Type: "Deleted", Name: "Inner"}}}}
	plan := &api.JobPlanResponse{
		Diff: &api.JobDiff{Type: "Edited", ID: "j", Fields: fields[:1], TaskGroups: []*api.TaskGroupDiff{
			{Type: "Edited", Name: "g", Fields: fields, Objects: object, Updates: map[string]uint64{"destroy": 1, "create": 2}, Tasks: []*api.TaskDiff{
				{Type: "Edited", Name: "t", Annotations: []string{"forces restart"}, Fields: fields[:1], Objects: object},
				{Type: "Added", Name: "new", Fields: fields}, {Type: "Deleted", Name: "old", Fields: fields},
			}},
			{Type: "None", Name: "same"},
		}},
		Annotations: &api.PlanAnnotations{DesiredTGUpdates: map[string]*api.DesiredUpdates{"g": {Place: 2}}},
	}
	want := `~ job j
  + New: "n"
  ~ group g (2 create, 1 destroy)
    + New: "n"
    - Old: "o"
    ~ Count: "1" → "2\x1b" (forces create, in-place)
    + Check
      + New: "n"
      - Inner
    ~ task t (forces restart)
      + New: "n"
      + Check
        + New: "n"
        - Inner
    + task new
    - task old
    group same
`
	s, out, _ := Test()
	if err := WritePlan(s, Plain, ColourNever, begin, plan); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out.Reset()
	if err := WritePlan(s, Quiet, ColourNever, begin, plan); err != nil || out.Len() > 0 {
		t.Errorf("quietly: %q, %v", out, err)
	}
	if err := WritePlan(s, JSON, ColourNever, begin, plan); err != nil || !strings.HasPrefix(out.String(), `{"type":"plan","time":"2026-03-14T12:00:00Z","job":"j","diff":{`) ||
		!strings.Contains(out.String(), `"groups":{"g":{`) {
		t.Errorf("as an object: %q, %v", out, err)
	}
	out.Reset()
	if err := WritePlan(s, Plain, ColourAlways, begin, plan); err != nil {
		t.Error(err)
	}
	style := newStyle(true)
	for _, line := range []string{style.Waiting("~ job j"), style.Good(`  + New: "n"`), style.Bad(`    - Old: "o"`), style.Quiet("    group same")} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("no %q in %q", line, out)
		}
	}
}

// A task that runs again waits for its restart, and a failed one for nothing.
func TestWaitsOfRestarts(t *testing.T) {
	t.Parallel()
	m := NewModel([]*api.Job{job("j", 1, hooked("one", "prestart", false), hooked("two", "prestart", false), task("web"), hooked("after", "poststart", false), task("db"))})
	a := m.alloc(alloc("j", 0, "11111111"))
	a.byName["one"].Restarts, a.byName["two"].State, a.byName["two"].Failed = 1, "dead", true
	a.byName["db"].State, a.byName["db"].Failed = "pending", true
	var got []string
	for _, w := range waiting(a) {
		got = append(got, w.Task.Name+": "+w.For)
	}
	want := `one: its restart|web: the end of prestart tasks "one", "two"|after: the start of main tasks "web", "db"`
	if strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
