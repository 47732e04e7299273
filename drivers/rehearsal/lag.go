package rehearsal

import (
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// Lag is a delay of nanoseconds or microseconds that is added to the durations of a
// script. Different lags put events in order that would otherwise happen at the
// same moment. A lag also lets time pass for a task that ends at once and is
// restarted again and again.
type Lag struct {
	Start time.Duration // to each start
	Run   time.Duration // to run_for and plugin_exit_after
}

// lagUnit is how many allocations have lags of their own.
const lagUnit = 64

// LagOf returns the lag of a task. Within an allocation all lags and the sums
// of two are different: tasks that start or end one after the other do so in a fixed order,
// and after all else that happens at that moment. Several jobs may be versions of
// one.
func LagOf(cfg *drivers.TaskConfig, jobs ...*api.Job) Lag {
	var tasks []string // of the group, in any version
	alloc, found := 0, false
	for _, j := range jobs {
		own := *j.ID == cfg.JobID || *j.ID == cfg.ParentJobID
		for _, g := range j.TaskGroups {
			if !own || *g.Name != cfg.GroupName {
				if !found {
					alloc++
				}
				continue
			}
			found = true
			for _, t := range g.Tasks {
				if !slices.Contains(tasks, t.Name) {
					tasks = append(tasks, t.Name)
				}
			}
		}
	}
	index, _ := strconv.Atoi(cfg.Env["NOMAD_ALLOC_INDEX"])
	place := max(slices.Index(tasks, cfg.Name), 0)
	apart := sumsApart(2 * (place + 1))
	own := time.Duration((11*alloc + index) % lagUnit)
	return Lag{
		Start: time.Duration(apart[2*place])*lagUnit + own,
		Run:   time.Duration(apart[2*place+1])*lagUnit + own,
	}
}

// sumsApart returns n numbers. They and the sums of two of them are all different:
// a sequence of Mian and Chowla, which begins with 0.
func sumsApart(n int) []int {
	numbers, sums := []int{0}, map[int]bool{0: true}
	for next := 1; len(numbers) <= n; next++ {
		if slices.ContainsFunc(numbers, func(k int) bool { return sums[k+next] }) || sums[2*next] {
			continue
		}
		numbers = append(numbers, next)
		for _, k := range numbers {
			sums[k+next] = true
		}
	}
	return numbers[1:]
}
