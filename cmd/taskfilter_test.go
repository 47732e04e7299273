package cmd

import (
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/exit"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

func TestShownTasks(t *testing.T) {
	t.Parallel()
	shop := api.NewBatchJob("shop", "shop", "global", 50)
	for name, count := range map[string]int{"app": 2, "batch": 1} {
		g := api.NewTaskGroup(name, count)
		g.Tasks = []*api.Task{api.NewTask("web", "raw_exec"), api.NewTask("db-"+name, "raw_exec")}
		shop.TaskGroups = append(shop.TaskGroups, g)
	}
	shop.Canonicalize()
	jobs := []*api.Job{shop}
	app0 := &event.Alloc{Job: "shop", Group: "app", Name: "shop.app[0]"}
	app1 := &event.Alloc{Job: "shop", Group: "app", Name: "shop.app[1]"}
	batch := &event.Alloc{Job: "shop", Group: "batch", Name: "shop.batch[0]"}
	child := &event.Alloc{Job: "shop/dispatch-1", Parent: "shop", Group: "batch", Name: "shop/dispatch-1.batch[0]"}
	for _, c := range []struct {
		tasks, groups nameList
		want          string // the tasks that are shown, and the allocations behind /
	}{
		{nil, nil, "all"},
		{nameList{"web"}, nil, "0/web 1/web batch/web child/web / 0 1 batch child"},
		{nameList{"db-app", "batch/web"}, nil, "0/db-app 1/db-app batch/web child/web / 0 1 batch child"},
		{nil, nameList{"app[1]"}, "1/web 1/db-app / 1"},
		{nil, nameList{"shop/batch"}, "batch/web batch/db-batch child/web child/db-batch / batch child"},
		{nameList{"web"}, nameList{"app"}, "0/web 1/web / 0 1"},
		{nameList{"shop/app[0]/web"}, nil, "0/web / 0"},
	} {
		s := shownTasks{tasks: c.tasks, groups: c.groups}
		if err := s.check(jobs); err != nil {
			t.Errorf("%v %v: %v", c.tasks, c.groups, err)
		}
		shows := s.filter(jobs)
		if shows == nil {
			if c.want != "all" {
				t.Errorf("%v %v: all are shown", c.tasks, c.groups)
			}
			continue
		}
		var tasks, allocs []string
		for _, a := range []struct {
			name string
			*event.Alloc
		}{{"0", app0}, {"1", app1}, {"batch", batch}, {"child", child}} {
			for _, task := range []string{"web", "db-" + a.Group} {
				if shows(a.Alloc, task) {
					tasks = append(tasks, a.name+"/"+task)
				}
			}
			if shows(a.Alloc, "") {
				allocs = append(allocs, a.name)
			}
		}
		if got := strings.Join(tasks, " ") + " / " + strings.Join(allocs, " "); got != c.want {
			t.Errorf("%v %v: shown are %q, want %q", c.tasks, c.groups, got, c.want)
		}
	}
	for _, s := range []shownTasks{{tasks: nameList{"app"}}, {tasks: nameList{"app[2]/web"}}, {groups: nameList{"web"}}, {groups: nameList{"app", "x"}}} {
		if err := s.check(jobs); exit.Code(err) != verdict.Usage {
			t.Errorf("%v %v: %v", s.tasks, s.groups, err)
		}
	}
}
