package rehearsal

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// Lags and their sums are different for all tasks of an allocation, in whichever
// version they are. Those of allocations increase with job, group and index.
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
	lag := func(job, parent, group, task string, index int) Lag {
		return LagOf(&drivers.TaskConfig{
			JobID: job, ParentJobID: parent, GroupName: group, Name: task,
			Env: map[string]string{"NOMAD_ALLOC_INDEX": strconv.Itoa(index)},
		}, jobs...)
	}
	var all []time.Duration
	for _, task := range []string{"x", "y", "new"} {
		l := lag("j", "", "a", task, 0)
		all = append(all, l.Start, l.Run)
	}
	seen := map[time.Duration]string{0: "none"}
	for i, a := range all {
		for j, b := range append([]time.Duration{0}, all[i:]...) {
			if of := fmt.Sprint(i, " and ", j); seen[a+b] != "" {
				t.Errorf("the lags %s are those of %s: %v", of, seen[a+b], a+b)
			} else {
				seen[a+b] = of
			}
		}
	}
	if most := slices.Max(all); most > 10*time.Microsecond {
		t.Errorf("a lag is %v", most)
	}
	before := lag("j", "", "a", "x", 0)
	for _, next := range []Lag{lag("j", "", "a", "x", 1), lag("j", "", "b", "x", 0), lag("j", "", "b", "x", 1), lag("k", "", "a", "x", 0)} {
		if next.Start <= before.Start || next.Run <= before.Run {
			t.Errorf("an allocation has the lags %v, the one before %v", next, before)
		}
		before = next
	}
	if lag("k/dispatch-1", "k", "a", "x", 0) != lag("k", "", "a", "x", 0) {
		t.Error("a child has other lags than its parent")
	}
}

func TestSumsApart(t *testing.T) {
	t.Parallel()
	want := []int{1, 3, 7, 12, 20, 30, 44, 65, 80, 96, 122, 147, 181, 203, 251, 289, 360, 400, 474}
	if got := sumsApart(len(want)); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
