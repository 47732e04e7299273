package fold

import (
	"testing"

	"github.com/hashicorp/nomad/api"
)

// Jobs that launch others have no allocations of their own, and a group of a
// system job has at most one.
func TestExpected(t *testing.T) {
	t.Parallel()
	kind := func(kind string, change func(*api.Job)) *api.Job {
		j := &api.Job{Type: new(kind), TaskGroups: []*api.TaskGroup{{Count: new(3)}, {Count: new(0)}}}
		change(j)
		return j
	}
	plain := kind("service", func(*api.Job) {})
	periodic := kind("batch", func(j *api.Job) { j.Periodic = &api.PeriodicConfig{} })
	parameterized := kind("batch", func(j *api.Job) { j.ParameterizedJob = &api.ParameterizedJobConfig{} })
	system := kind("system", func(*api.Job) {})
	for _, c := range []struct {
		jobs []*api.Job
		want int
	}{
		{nil, 0},
		{[]*api.Job{plain}, 3},
		{[]*api.Job{periodic}, 0},
		{[]*api.Job{parameterized}, 0},
		{[]*api.Job{system}, 1},
		{[]*api.Job{periodic, plain, system, parameterized}, 4},
	} {
		if got := New(c.jobs).Expected(); got != c.want {
			t.Errorf("%d jobs: %d allocations, want %d", len(c.jobs), got, c.want)
		}
	}
}
