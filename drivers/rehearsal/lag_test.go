package rehearsal

import (
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// The lags are those of the order of the job, and none is 0.
func TestLagsOfAJob(t *testing.T) {
	t.Parallel()
	job := &api.Job{TaskGroups: []*api.TaskGroup{
		{Name: new("a"), Tasks: []*api.Task{{Name: "x"}, {Name: "y"}}},
		{Name: new("b"), Tasks: []*api.Task{{Name: "x"}}},
	}}
	want := time.Duration(0)
	for index := range 3 {
		for _, g := range job.TaskGroups {
			for _, task := range g.Tasks {
				want++
				cfg := &drivers.TaskConfig{GroupName: *g.Name, Name: task.Name, Env: map[string]string{"NOMAD_ALLOC_INDEX": strconv.Itoa(index)}}
				if got := Lag(job, cfg); got != want {
					t.Errorf("%s[%d]/%s has a lag of %d, not %d", *g.Name, index, task.Name, got, want)
				}
			}
		}
	}
}
