package ui

import (
	"testing"

	"github.com/hashicorp/nomad/api"
)

func TestLabelsAreAsShortAsTheyCanBe(t *testing.T) {
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
			if got := newLabels(c.jobs, c.columns).of(c.alloc, c.task); got != c.want {
				t.Errorf("label %q, want %q", got, c.want)
			}
		})
	}
}
