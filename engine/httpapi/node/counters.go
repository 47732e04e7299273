package node

import (
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// Names of the metrics of requests.
const (
	requestCount = "nomad.nomad.rpc.request"
	requestTime  = "nomad.http.request"
)

// sampled returns a metric of the latest interval.
func sampled(name string, d durations) api.SampledValue {
	return api.SampledValue{
		Name: name, Mean: d.mean(), Stddev: d.deviation(), DisplayLabels: map[string]string{},
		AggregateSample: &api.AggregateSample{
			Count: d.n, Rate: d.sum / interval.Seconds(), Sum: d.sum, Min: d.min, Max: d.max,
		},
	}
}

// taskCounters returns how often the tasks of each group have restarted, failed
// and completed, as far as their allocations are known. The counts are those
// since the run began, sorted by name.
func (h *Handler) taskCounters() []api.SampledValue {
	type counter struct{ name, namespace, job, group, task string }
	counts := map[counter]int{}
	for _, a := range h.run.Engine.Allocs() {
		for task, state := range a.Tasks {
			add := func(name string, n int) {
				counts[counter{"nomad.client.allocs." + name, *a.Job.Namespace, *a.Job.ID, a.Group, task}] += n
			}
			add("restart", int(state.Restarts))
			switch {
			case state.State != "dead":
			case state.Failed:
				add("failed", 1)
			default:
				add("complete", 1)
			}
		}
	}
	list := make([]api.SampledValue, 0, len(counts)+1)
	for of, n := range counts {
		v := sampled(of.name, counted(n))
		v.DisplayLabels = map[string]string{"namespace": of.namespace, "job": of.job, "task_group": of.group, "task": of.task}
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b api.SampledValue) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// counted returns what a counter sums up that was increased n times by one.
func counted(n int) durations {
	one := float64(min(n, 1))
	return durations{n: n, sum: float64(n), squares: float64(n), min: one, max: one}
}
