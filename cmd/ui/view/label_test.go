package view

import (
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/prose"
	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

func TestLabelsAreMinimal(t *testing.T) {
	t.Parallel()
	two := job("shop", 1, task("web"))
	other := api.NewTaskGroup("admin", 1)
	other.Tasks = []*api.Task{task("web"), task("cron")}
	two.TaskGroups = append(two.TaskGroups, other)
	two.Canonicalize()

	for _, c := range []struct {
		name        string
		jobs        []*api.Job
		columns     int
		alloc, task string
		want        string
	}{
		{"alone", []*api.Job{job("shop", 1, task("web"))}, 80, "shop.app[0]", "web", "web"},
		{"several allocations", []*api.Job{job("shop", 2, task("web"))}, 80, "shop.app[1]", "web", "app[1]/web"},
		{"in two groups", []*api.Job{two}, 80, "shop.admin[0]", "web", "admin/web"},
		{"in one of two groups", []*api.Job{two}, 80, "shop.admin[0]", "cron", "cron"},
		{"in two jobs", []*api.Job{job("a", 1, task("web")), job("b", 1, task("web"))}, 80, "b.app[0]", "web", "b/web"},
		{"too long", []*api.Job{job("j", 1, task("a-task-with-quite-a-long-name"))}, 80, "j.app[0]", "a-task-with-quite-a-long-name", "a-task-wi…-long-name"},
		{"too long in a pipe", []*api.Job{job("j", 1, task("a-task-with-quite-a-long-name"))}, 0, "j.app[0]", "a-task-with-quite-a-long-name", "a-task-with-quite-a-long-name"},
		{"of no job", nil, 80, "x.y[0]", "z", "x.y[0]/z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := newLabels(Options{Jobs: c.jobs}, c.columns).of(c.alloc, c.task); got != c.want {
				t.Errorf("label %q, want %q", got, c.want)
			}
		})
	}
}

// Labels use at most a quarter of a terminal, and their column is no wider.
func TestLabelsFit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 40)
	for columns, want := range map[int]int{0: 40, 20: 8, 32: 8, 36: 9, 80: 20, 96: 24, 200: 24} {
		l := newLabels(Options{Jobs: []*api.Job{job("j", 1, task(long), task("\x1b"))}}, columns)
		if got := len([]rune(l.of("j.app[0]", long))); got != want || l.width != min(want, maxLabel) {
			t.Errorf("%d columns: a label of %d in a column of %d, want %d", columns, got, l.width, want)
		}
		if got := l.padded(l.of("j.app[0]", "\x1b")); got != `\x1b`+strings.Repeat(" ", min(want, maxLabel)-4) {
			t.Errorf("%d columns: %q", columns, got)
		}
	}
	if got := newLabels(Options{}, 0).of("", "t\x1b"); got != `t\x1b` {
		t.Errorf("a task of no allocation is %q", got)
	}
}

// Labels of two jobs have indexes only if both have such a group.
func TestLabelsOfSeveralJobs(t *testing.T) {
	t.Parallel()
	jobs := []*api.Job{job("a", 2, task("web")), job("b", 2, task("web"), task("db")), job("c", 1, task("web"))}
	l := newLabels(Options{Jobs: jobs}, 0)
	for key, want := range map[labelKey]string{
		{"a.app[1]", "web"}: "a/app[1]/web", {"b.app[0]", "web"}: "b/app[0]/web", {"b.app[1]", "db"}: "app[1]/db", {"c.app[0]", "web"}: "web",
	} {
		if got := l.of(key.alloc, key.task); got != want {
			t.Errorf("%v: %q, want %q", key, got, want)
		}
	}
}

func TestTasksGetStableAndDifferentColors(t *testing.T) {
	t.Parallel()
	jobs := []*api.Job{job("j", 3, task("web"), task("db"), task("cache"), task("queue"), task("proxy"), task("cron"))}
	colors := taskColors(jobs)
	seen := make(map[int]string)
	for name, color := range colors {
		if other, ok := seen[color]; ok {
			t.Errorf("%s and %s have the same color, and there are enough", name, other)
		}
		seen[color] = name
	}
	for range 10 {
		for name, color := range taskColors(jobs) {
			if colors[name] != color {
				t.Errorf("%s has another color this time", name)
			}
		}
	}
}

// The column of labels and each line of a run have the width that a terminal
// displays.
func TestWideLabelsAlign(t *testing.T) {
	t.Parallel()
	names := []string{"日本語サービス", "🚀", "e\u0301te\u0301", "db"}
	for _, columns := range []int{0, 36, 80} {
		var tasks []*api.Task
		for _, name := range names {
			tasks = append(tasks, task(name))
		}
		s, a := newStage(t, columns, Options{Time: ui.TimeNone, Jobs: []*api.Job{job("j", 1, tasks...)}}), alloc("j", 0, "11111111")
		for _, name := range names {
			s.writes(a, name, event.Stdout, "x\n")
			s.say(a, name, event.TaskState{State: "pending"})
		}
		s.shows()
		shown := s.screen
		if shown == nil {
			shown = s.out
			shown.Write(s.err.Bytes())
		}
		at := map[string]int{}
		for line := range strings.Lines(shown.String()) {
			for _, mark := range []string{markStdout, "○"} {
				before, _, found := strings.Cut(line, mark)
				if first, seen := at[mark]; found && seen && first != prose.Width(before) {
					t.Errorf("%d columns: %q begins in column %d, others in %d", columns, line, prose.Width(before), first)
				}
				if found {
					at[mark] = prose.Width(before)
				}
			}
		}
		if len(at) != 2 || at[markStdout] != at["○"] {
			t.Errorf("%d columns: output and events begin in %v", columns, at)
		}
	}
}
