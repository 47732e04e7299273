package ui

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/jobspec/visible"
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

// Columns are as wide as a terminal shows them: ideographs and emoji take two
// columns, combining marks none.
func TestWideTextAligns(t *testing.T) {
	t.Parallel()
	texts := []string{"日本語サービス", "🚀-deploy", "e\u0301te\u0301", "plain", "한국어", "👍🏽", "क्षि"}
	for width := range 60 {
		var rows []row
		for _, text := range texts {
			rows = append(rows, row{[]string{text, text, "1"}, func(s string) string { return s }})
		}
		if width > 0 {
			fit(rows, width, 2)
		}
		for i, line := range align(rows, 2) {
			if got, want := ansi.StringWidth(line), ansi.StringWidth(align(rows, 2)[0]); got != want {
				t.Errorf("%d columns: %q takes %d, %q %d", width, texts[i], got, texts[0], want)
			}
			if got := ansi.StringWidth(line); width > 8 && got > width {
				t.Errorf("%q takes %d of %d columns", line, got, width)
			}
		}
	}
	rows := []row{{[]string{"日本", "1"}, func(s string) string { return s }}, {[]string{"e\u0301te", "20"}, func(s string) string { return s }}}
	if got, want := align(rows, 1), []string{"日本   1", "e\u0301te   20"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Whatever is cut is no wider than it may be, and stays whole characters.
func FuzzCuts(f *testing.F) {
	f.Add("日本語サービス[12]/タスク", 12)
	f.Add("👩🏽e\u0301\u0301🇩🇪 a b", 3)
	f.Add("a\u200d\t\x1b[31mb\xff", 1)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		text, limit = visible.String(text), 1+int(uint(limit)%300)
		if got := shorten(text, limit); ansi.StringWidth(got) > limit || !utf8.ValidString(got) {
			t.Errorf("%q shortened to %d is %q", text, limit, got)
		}
		for _, line := range wrap(text, limit, 3) {
			if ansi.StringWidth(line) > max(limit, 10) || !utf8.ValidString(line) {
				t.Errorf("%q wrapped at %d has %q", text, limit, line)
			}
		}
		if got := wrap(text, 20*len(text), 3); strings.Join(got, "") != text {
			t.Errorf("%q in one line: %q", text, got)
		}
	})
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

// A plan shows what is added, deleted and changed, and all else by its name.
func TestPlan(t *testing.T) {
	t.Parallel()
	fields := []*api.FieldDiff{
		{Type: "Added", Name: "New", New: "n"},
		{Type: "Deleted", Name: "Old", Old: "o"},
		{Type: "Edited", Name: "Count", Old: "1", New: "2\x1b", Annotations: []string{"forces create", "in-place"}},
		{Type: "None", Name: "Same", Old: "s", New: "s"},
	}
	object := []*api.ObjectDiff{{Type: "Added", Name: "Check", Fields: fields[:1], Objects: []*api.ObjectDiff{{Type: "Deleted", Name: "Inner"}}}}
	plan := &api.JobPlanResponse{
		Diff: &api.JobDiff{Type: "Edited", ID: "j", Fields: fields[:1], TaskGroups: []*api.TaskGroupDiff{
			{Type: "Edited", Name: "g", Fields: fields, Objects: object, Updates: map[string]uint64{"destroy": 1, "create": 2}, Tasks: []*api.TaskDiff{
				{Type: "Edited", Name: "t", Annotations: []string{"forces restart"}, Fields: fields[:1], Objects: object},
				{Type: "Added", Name: "new", Fields: fields},
				{Type: "Deleted", Name: "old", Fields: fields},
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
	if err := WritePlan(s, Plain, ColourNever, begin, plan, nil); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out.Reset()
	if err := WritePlan(s, Quiet, ColourNever, begin, plan, nil); err != nil || out.Len() > 0 {
		t.Errorf("quietly: %q, %v", out, err)
	}
	if err := WritePlan(s, JSON, ColourNever, begin, plan, nil); err != nil || !strings.HasPrefix(out.String(), `{"type":"plan","time":"2026-03-14T12:00:00Z","job":"j","diff":{`) ||
		!strings.Contains(out.String(), `"groups":{"g":{`) {
		t.Errorf("as an object: %q, %v", out, err)
	}
	out.Reset()
	if err := WritePlan(s, Plain, ColourAlways, begin, plan, nil); err != nil {
		t.Error(err)
	}
	style := newStyle(true)
	for _, line := range []string{style.Waiting("~ job j"), style.Good(`  + New: "n"`), style.Bad(`    - Old: "o"`), style.Quiet("    group same")} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("no %q in %q", line, out)
		}
	}
}

// A task that waited for others names them.
func TestAwaited(t *testing.T) {
	t.Parallel()
	one, two := []string{"a"}, []string{"a", "b"}
	for want, w := range map[string]fold.Wait{
		"its start":                               {For: fold.ItsStart},
		"its restart":                             {For: fold.ItsRestart},
		`the end of prestart task "a"`:            {For: fold.PrestartEnd, Tasks: one},
		`the start of prestart sidecar "a"`:       {For: fold.SidecarStart, Tasks: one},
		`the start of main tasks "a", "b"`:        {For: fold.MainStart, Tasks: two},
		`the end of prestart tasks "a", "b"`:      {For: fold.PrestartEnd, Tasks: two},
		`the start of prestart sidecars "a", "b"`: {For: fold.SidecarStart, Tasks: two},
	} {
		if got := awaited(w); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
