package watch

import (
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/update"
)

func TestEffect(t *testing.T) {
	t.Parallel()
	job := func(tasks map[string]int) *api.Job {
		j := &api.Job{}
		for name, n := range tasks {
			g := api.NewTaskGroup(name, 1)
			g.Tasks = make([]*api.Task, n)
			j.TaskGroups = append(j.TaskGroups, g)
		}
		return j
	}
	before, after := job(map[string]int{"one": 1, "two": 2, "old": 3}), job(map[string]int{"one": 1, "two": 2})
	for want, groups := range map[string][]update.Group{
		"no task is affected":                  {{Name: "one", Ignore: []int{0}}},
		"2 tasks updated in place, 1 replaced": {{Name: "one", Kind: update.Destructive, Replace: []int{0}}, {Name: "two", Kind: update.InPlace, InPlace: []int{0}}},
		"1 task replaced":                      {{Name: "one", Kind: update.Destructive, Replace: []int{0}}},
		"3 tasks replaced":                     {{Name: "one", Kind: update.Destructive, Replace: []int{0}, Ignore: []int{1, 2}}},
		"1 task started, 3 stopped":            {{Name: "one", Place: []int{0}}, {Name: "old", Stop: []int{0}}},
		"2 tasks started as canaries":          {{Name: "two", Kind: update.Destructive, Canary: []int{0}, Ignore: []int{0}}},
	} {
		if got := Effect(&update.Plan{Groups: groups}, before, after); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
