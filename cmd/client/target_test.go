package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

// newTask returns a task in allocation job.group[index].
func newTask(job, group string, index int, name, state, id string) *Task {
	return &Task{
		Alloc: &api.AllocationListStub{
			ID: id, JobID: job, TaskGroup: group, Name: fmt.Sprintf("%s.%s[%d]", job, group, index),
		},
		Name: name, State: &api.TaskState{State: state}, Index: index,
	}
}

// shop returns tasks: shop has several with the same name, web is a small job,
// nightly was launched twice.
func shop() []*Task {
	return []*Task{
		newTask("nightly/periodic-100", "n", 0, "dump", "dead", "66666666-0000"),
		newTask("nightly/periodic-200", "n", 0, "dump", "running", "77777777-0000"),
		newTask("shop", "admin", 0, "cron", "pending", "33333333-0000"),
		newTask("shop", "admin", 0, "log", "running", "33333333-0000"),
		newTask("shop", "app", 0, "log", "running", "1f111111-0000"),
		newTask("shop", "app", 0, "main", "running", "1f111111-0000"),
		newTask("shop", "app", 1, "log", "running", "1e222222-0000"),
		newTask("shop", "app", 1, "main", "running", "1e222222-0000"),
		newTask("web", "web", 0, "init", "dead", "44444444-0000"),
		newTask("web", "web", 0, "web", "running", "44444444-0000"),
	}
}

func full(t *Task) string { return t.Alloc.Name + "/" + t.Name }

func TestTargetMatchesTasks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ target, want string }{
		{"web", "web.web[0]/web"}, // the task, not the group or the job
		{"init", "web.web[0]/init"},
		{"main", "shop.app[0]/main shop.app[1]/main"},
		{"app[1]/main", "shop.app[1]/main"},
		{"app/main", "shop.app[0]/main shop.app[1]/main"},
		{"shop/app[0]/main", "shop.app[0]/main"},
		{"shop.app[0]/main", "shop.app[0]/main"},
		{"shop/cron", "shop.admin[0]/cron"},
		{"admin", "shop.admin[0]/cron shop.admin[0]/log"},
		{"app[0]", "shop.app[0]/log shop.app[0]/main"},
		{"shop/app[1]", "shop.app[1]/log shop.app[1]/main"},
		{"web/web", "web.web[0]/web"},
		{"nightly", "nightly/periodic-100.n[0]/dump nightly/periodic-200.n[0]/dump"},
		{"nightly/periodic-200", "nightly/periodic-200.n[0]/dump"},
		{"nightly/periodic-200/dump", "nightly/periodic-200.n[0]/dump"},
		{"1f", "shop.app[0]/log shop.app[0]/main"},
		{"1F11", "shop.app[0]/log shop.app[0]/main"},
		{"1e222222-0000/main", "shop.app[1]/main"},
		{"1f/cron", ""},
		{"1", ""},
		{"", ""},
		{"we", ""},
	} {
		found, err := Find(shop(), c.target)
		var names []string
		for _, task := range found {
			names = append(names, full(task))
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%q stands for %q, want %q", c.target, got, c.want)
		}
		var unknown *UnknownError
		if (c.want == "") != errors.As(err, &unknown) {
			t.Errorf("%q: error %v", c.target, err)
		}
	}
}

func TestPickTakesTheRunningTask(t *testing.T) {
	t.Parallel()
	tasks := shop()
	ended := tasks[8].State
	ended.StartedAt, ended.FinishedAt = time.Unix(1, 0), time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	ended.Failed, ended.Events = true, []*api.TaskEvent{{Type: api.TaskTerminated, Details: map[string]string{"exit_code": "3"}}}
	for _, c := range []struct{ target, want string }{
		{"web", "web.web[0]/web"},
		{"44444444", "web.web[0]/web"}, // init has ended
		{"admin", "shop.admin[0]/log"},
		{"nightly", "nightly/periodic-200.n[0]/dump"},
		{"main", `"main" is ambiguous: app[0]/main, app[1]/main`},
		{"shop", `"shop" is ambiguous: admin/log, app[0]/log, app[0]/main, app[1]/log, app[1]/main`},
		{"cron", `task "cron" has not started yet`},
		{"init", `task "init" is dead: it ended with exit code 3 at 03:04:05 and failed`},
		{"nightly/periodic-100", `task "nightly/periodic-100/dump" is dead: it never started`},
		{"nobody", `no task matches "nobody"`},
	} {
		got := ""
		if task, err := Pick(tasks, c.target); err != nil {
			got = err.Error()
		} else {
			got = full(task)
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.target, got, c.want)
		}
	}
}

func TestNearestTarget(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"wbe": "web", "crn": "cron", "main": "main", "shop/crom": "shop/cron", "app[2]/main": "app[0]/main",
		"nigh": "nightly/periodic-100", "xyz": "", "postgres": "",
	} {
		if got := nearest(word, shop()); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}

func TestEveryLabelIsATarget(t *testing.T) {
	t.Parallel()
	tasks := append(shop(), newTask("other", "app", 0, "main", "running", "88888888-0000"))
	want := []string{
		"admin/log", "app[0]/log", "app[1]/log", "app[1]/main", "cron", "init",
		"nightly/periodic-100/dump", "nightly/periodic-200/dump", "other/main", "shop/app[0]/main", "web",
	}
	labels := Labels(tasks)
	var got []string
	for task, label := range labels {
		got = append(got, label)
		if found, err := Find(tasks, label); err != nil || len(found) != 1 || found[0] != task {
			t.Errorf("label %q does not lead to %s", label, full(task))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("labels %q, want %q", got, want)
	}
	// The same job may run twice.
	twice := []*Task{newTask("j", "g", 0, "t", "running", "11111111-0000"), newTask("j", "g", 0, "t", "running", "22222222-0000")}
	if label := Labels(twice)[twice[1]]; label != "22222222/t" {
		t.Errorf("label %q", label)
	}
}

func TestReplacedAllocationsDoNotMakeNamesAmbiguous(t *testing.T) {
	t.Parallel()
	old, current := newTask("j", "g", 0, "t", "dead", "11111111-0000"), newTask("j", "g", 0, "t", "running", "22222222-0000")
	old.Alloc.NextAllocation = current.Alloc.ID
	labels := Labels([]*Task{old, current})
	if labels[old] != "t" || labels[current] != "t" {
		t.Errorf("labels %q and %q", labels[old], labels[current])
	}
	if picked, err := Pick([]*Task{old, current}, "t"); err != nil || picked != current {
		t.Error(picked, err)
	}
}

func TestTargetsForCompletion(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]string{
		"a":     "admin admin/log app app[0]/log app[0]/main app[1]/log app[1]/main",
		"web/":  "web/init web/web web/web/init web/web/web web/web[0] web/web[0]/init web/web[0]/web",
		"night": "nightly/periodic-100 nightly/periodic-100/dump nightly/periodic-200 nightly/periodic-200/dump",
		"zz":    "",
	} {
		if got := strings.Join(Targets(shop(), prefix), " "); got != want {
			t.Errorf("%q: %q, want %q", prefix, got, want)
		}
	}
	if got := strings.Join(Jobs(shop(), "n"), " "); got != "nightly/periodic-100 nightly/periodic-200" {
		t.Errorf("jobs %q", got)
	}
	unknown := newTask("new", "g", 0, "", "pending", "99999999-0000")
	if got := strings.Join(TaskNames(append(shop(), unknown), ""), " "); got != "cron dump init log main web" {
		t.Errorf("names of tasks %q", got)
	}
	if label := Labels([]*Task{unknown})[unknown]; label != "99999999" {
		t.Errorf("an allocation without known tasks is called %q", label)
	}
}

// Targets are resolved once, with the tasks at that time: later tasks are
// selected by the same names only.
func TestSelection(t *testing.T) {
	t.Parallel()
	later := append(shop(), newTask("web", "web", 1, "web", "running", "55555555-0000"), newTask("main", "main", 0, "other", "running", "56666666-0000"))
	for _, tt := range []struct{ targets, want, byID string }{
		{"", "nightly/periodic-100.n[0]/dump nightly/periodic-200.n[0]/dump shop.admin[0]/cron shop.admin[0]/log shop.app[0]/log shop.app[0]/main shop.app[1]/log shop.app[1]/main web.web[0]/init web.web[0]/web web.web[1]/web main.main[0]/other", ""},
		{"web", "web.web[0]/web web.web[1]/web", ""}, // not init, which matches by its group
		{"main", "shop.app[0]/main shop.app[1]/main", ""},
		{"cron 1f", "shop.admin[0]/cron shop.app[0]/log shop.app[0]/main", "shop.app[0]/log shop.app[0]/main"},
		{"nobody", "unknown", ""},
		{"web nobody", "unknown", ""},
	} {
		s, err := Select(shop(), strings.Fields(tt.targets))
		if err != nil {
			if unknown := (*UnknownError)(nil); tt.want != "unknown" || !errors.As(err, &unknown) || unknown.Target != "nobody" {
				t.Errorf("%q: error %v", tt.targets, err)
			}
			continue
		}
		var got, byID []string
		for _, task := range s.Of(later) {
			got = append(got, full(task))
			if s.ByID(task) {
				byID = append(byID, full(task))
			}
		}
		if strings.Join(got, " ") != tt.want || strings.Join(byID, " ") != tt.byID {
			t.Errorf("%q selects %q, by their IDs %q", tt.targets, got, byID)
		}
	}
}

// Of several matching tasks that are not running, those that were not replaced
// count, if there are any.
func TestPickOfATaskThatIsNotRunning(t *testing.T) {
	t.Parallel()
	old, current := newTask("j", "g", 0, "t", "dead", "11111111-0000"), newTask("j", "g", 0, "t", "pending", "22222222-0000")
	old.Alloc.NextAllocation = current.Alloc.ID
	for want, tasks := range map[string][]*Task{`task "t" has not started yet`: {old, current}, `task "t" is dead: it never started`: {old}} {
		if _, err := Pick(tasks, "t"); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func FuzzTargets(f *testing.F) {
	for _, target := range []string{"web", "app[1]/main", "1f", "nightly", "/", "[", "shop/app[0]/main"} {
		f.Add(target)
	}
	f.Fuzz(func(t *testing.T, target string) {
		found, err := Find(shop(), target)
		if (len(found) == 0) != (err != nil) {
			t.Fatal(found, err)
		}
		for _, task := range found {
			if task.rank(target) != found[0].rank(target) {
				t.Error("of different ranks")
			}
		}
		_, _ = Pick(shop(), target)
	})
}
