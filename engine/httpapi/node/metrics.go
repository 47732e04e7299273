package node

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/httpapi/tracker"
)

// Metrics answers GET /v1/metrics with the current usage of the machine, the
// engine and the tasks, with Nomad's names; see
// https://developer.hashicorp.com/nomad/docs/reference/metrics.
func (h *Handler) Metrics(r *rest.Request) error {
	list := h.gauges(r.Context())
	switch format := r.Query.Get("format"); format {
	case "":
		return r.JSON(http.StatusOK, &api.MetricsSummary{
			Timestamp: time.Now().UTC().Format("2006-01-02 15:04:05 -0700 MST"), Gauges: list,
			Points: []api.PointValue{}, Counters: []api.SampledValue{}, Samples: []api.SampledValue{},
		})
	case "prometheus":
		return r.Send(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", exposition(list))
	default:
		return rest.Fail(http.StatusBadRequest, "unknown format %q: it is prometheus or none", format)
	}
}

// gauges returns the gauges sorted by name.
func (h *Handler) gauges(ctx context.Context) []api.GaugeValue {
	g := gauges{}
	h.addHost(&g)
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	g.add("nomad.runtime.num_goroutines", float64(runtime.NumGoroutine()), nil)
	g.add("nomad.runtime.alloc_bytes", float64(memory.Alloc), nil)
	g.add("nomad.runtime.sys_bytes", float64(memory.Sys), nil)
	g.add("nomad.runtime.heap_objects", float64(memory.HeapObjects), nil)
	g.add("nomad.runtime.total_gc_runs", float64(memory.NumGC), nil)
	now := h.run.Look()
	counts := map[string]int{api.AllocClientStatusPending: 0, api.AllocClientStatusRunning: 0, "terminal": 0}
	for _, j := range now.Jobs {
		for group, n := range now.Summary(j).Summary {
			labels := map[string]string{"job": *j.ID, "task_group": group, "namespace": *j.Namespace}
			for state, count := range map[string]int{
				"queued": n.Queued, "complete": n.Complete, "failed": n.Failed, "running": n.Running, "starting": n.Starting, "lost": n.Lost,
			} {
				g.add("nomad.nomad.job_summary."+state, float64(count), labels)
			}
		}
		for _, a := range now.Allocs(j) {
			if tracker.Terminal(a.Status) {
				counts["terminal"]++
				continue
			}
			counts[a.Status]++
			for task, use := range a.Stats(ctx, "").Tasks {
				g.addTask(use, map[string]string{
					"job": *j.ID, "task_group": a.Group, "alloc_id": a.ID, "task": task, "namespace": *j.Namespace,
				})
			}
		}
	}
	for state, n := range counts {
		g.add("nomad.client.allocations."+state, float64(n), h.nodeLabels())
	}
	slices.SortStableFunc(g.list, func(a, b api.GaugeValue) int { return strings.Compare(a.Name, b.Name) })
	return g.list
}

func (h *Handler) nodeLabels() map[string]string {
	return map[string]string{"node_id": h.run.Machine.ID, "datacenter": h.run.Machine.Datacenter}
}

// addHost adds the resources of the machine and their usage, if they can be
// measured.
func (h *Handler) addHost(g *gauges) {
	host, err := h.hostStats()
	if err != nil {
		return
	}
	labels := h.nodeLabels()
	g.add("nomad.client.uptime", float64(host.Uptime), labels)
	g.add("nomad.client.host.memory.total", float64(host.Memory.Total), labels)
	g.add("nomad.client.host.memory.available", float64(host.Memory.Available), labels)
	g.add("nomad.client.host.memory.used", float64(host.Memory.Used), labels)
	g.add("nomad.client.host.memory.free", float64(host.Memory.Free), labels)
	for _, cpu := range host.CPU {
		of := maps.Clone(labels)
		of["cpu"] = cpu.CPU
		g.add("nomad.client.host.cpu.user", cpu.User, of)
		g.add("nomad.client.host.cpu.system", cpu.System, of)
		g.add("nomad.client.host.cpu.idle", cpu.Idle, of)
	}
	for _, d := range host.DiskStats {
		of := maps.Clone(labels)
		of["disk"] = d.Device
		g.add("nomad.client.host.disk.size", float64(d.Size), of)
		g.add("nomad.client.host.disk.used", float64(d.Used), of)
		g.add("nomad.client.host.disk.available", float64(d.Available), of)
		g.add("nomad.client.host.disk.used_percent", d.UsedPercent, of)
		g.add("nomad.client.host.disk.inodes_percent", d.InodesUsedPercent, of)
	}
}

type gauges struct{ list []api.GaugeValue }

func (g *gauges) add(name string, value float64, labels map[string]string) {
	if labels == nil {
		labels = map[string]string{}
	}
	g.list = append(g.list, api.GaugeValue{Name: name, Value: float32(value), DisplayLabels: labels})
}

func (g *gauges) addTask(use *api.TaskResourceUsage, labels map[string]string) {
	if cpu := use.ResourceUsage.CpuStats; cpu != nil {
		g.add("nomad.client.allocs.cpu.user", cpu.UserMode, labels)
		g.add("nomad.client.allocs.cpu.system", cpu.SystemMode, labels)
		g.add("nomad.client.allocs.cpu.total_percent", cpu.Percent, labels)
		g.add("nomad.client.allocs.cpu.total_ticks", cpu.TotalTicks, labels)
	}
	if memory := use.ResourceUsage.MemoryStats; memory != nil {
		g.add("nomad.client.allocs.memory.rss", float64(memory.RSS), labels)
		g.add("nomad.client.allocs.memory.cache", float64(memory.Cache), labels)
		g.add("nomad.client.allocs.memory.swap", float64(memory.Swap), labels)
		g.add("nomad.client.allocs.memory.usage", float64(memory.Usage), labels)
	}
}

// exposition formats gauges for Prometheus; see
// https://prometheus.io/docs/instrumenting/exposition_formats.
func exposition(list []api.GaugeValue) []byte {
	var text []byte
	last := ""
	for _, g := range list {
		name := strings.ReplaceAll(g.Name, ".", "_")
		if name != last {
			text = fmt.Appendf(text, "# HELP %s %s\n# TYPE %s gauge\n", name, name, name)
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
