package rehearsal

import (
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// The lags are those of the order of jobs, versions and tasks, and none is 0.
func TestLagsOfJobs(t *testing.T) {
	t.Parallel()
	group := func(name string, tasks ...string) *api.TaskGroup {
		g := &api.TaskGroup{Name: &name}
		for _, task := range tasks {
			g.Tasks = append(g.Tasks, &api.Task{Name: task})
		}
		return g
	}
	jobs := []*api.Job{
		{ID: new("j"), TaskGroups: []*api.TaskGroup{group("a", "x", "y"), group("b", "x")}},
		{ID: new("j"), TaskGroups: []*api.TaskGroup{group("a", "y", "new")}},
		{ID: new("k"), TaskGroups: []*api.TaskGroup{group("a", "x")}},
	}
	for _, c := range []struct {
		job, parent, group, task string
		index                    int
		want                     time.Duration
	}{
		{"j", "", "a", "x", 0, 1},
		{"j", "", "a", "y", 0, 2},
		{"j", "", "b", "x", 0, 3},
		{"j", "", "a", "new", 0, 5},
		{"k", "", "a", "x", 0, 6},
		{"j", "", "a", "x", 1, 7},
		{"k", "", "a", "x", 2, 18},
		{"k/dispatch-1", "k", "a", "x", 0, 6},
	} {
		cfg := &drivers.TaskConfig{
			JobID: c.job, ParentJobID: c.parent, GroupName: c.group, Name: c.task,
			Env: map[string]string{"NOMAD_ALLOC_INDEX": strconv.Itoa(c.index)},
		}
		if got := Lag(cfg, jobs...); got != c.want {
			t.Errorf("%+v has a lag of %d", c, got)
		}
	}
}
