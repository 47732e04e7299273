package node

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

// Metrics answers GET /v1/metrics with the current usage of the machine, the
// engine and the tasks, with Nomad's names; see
// https://developer.hashicorp.com/nomad/docs/reference/metrics.
func (h *Handler) Metrics(r *rest.Request) error {
	switch format := r.Query.Get("format"); format {
	case "":
		recent := h.requests.recent()
		return r.JSON(http.StatusOK, &api.MetricsSummary{
			Timestamp: time.Now().UTC().Format("2006-01-02 15:04:05 -0700 MST"),
			Gauges:    h.gauges(r.Context()),
			Points:    []api.PointValue{},
			Counters:  append(h.taskCounters(), sampled(requestCount, counted(recent.n))),
			Samples:   []api.SampledValue{sampled(requestTime, recent)},
		})
	case "prometheus":
		return r.Send(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", h.exposition(r.Context()))
	default:
		return rest.Fail(http.StatusBadRequest, "unknown format %q: it is prometheus or none", format)
	}
}

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

// exposition returns all metrics for Prometheus; see
// https://prometheus.io/docs/instrumenting/exposition_formats.
func (h *Handler) exposition(ctx context.Context) []byte {
	n, seconds := h.requests.sum()
	totals := []api.GaugeValue{}
	for _, c := range h.taskCounters() {
		totals = append(totals, api.GaugeValue{Name: c.Name, Value: float32(c.Sum), DisplayLabels: c.DisplayLabels})
	}
	totals = append(totals, api.GaugeValue{Name: requestCount, Value: float32(n)})
	text := expose(nil, "gauge", h.gauges(ctx))
	text = expose(text, "counter", totals)
	name := exposed(requestTime)
	return fmt.Appendf(text, "# HELP %[1]s %[1]s\n# TYPE %[1]s summary\n%[1]s_sum %[2]v\n%[1]s_count %[3]d\n", name, seconds*1000, n)
}

// exposed returns the name of a metric for Prometheus.
func exposed(name string) string { return strings.ReplaceAll(name, ".", "_") }

// expose appends metrics of a kind, which are sorted by name, to a text.
func expose(text []byte, kind string, list []api.GaugeValue) []byte {
	last := ""
	for _, g := range list {
		name := exposed(g.Name)
		if name != last {
			text = fmt.Appendf(text, "# HELP %s %s\n# TYPE %s %s\n", name, name, name, kind)
			last = name
		}
		text = append(text, name...)
		for i, label := range slices.Sorted(maps.Keys(g.DisplayLabels)) {
			text = append(text, "{,"[min(i, 1)])
			text = fmt.Appendf(text, `%s="%s"`, label, labelText.Replace(g.DisplayLabels[label]))
		}
		if len(g.DisplayLabels) > 0 {
			text = append(text, '}')
		}
		text = fmt.Appendf(text, " %v\n", g.Value)
	}
	return text
}

var labelText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
