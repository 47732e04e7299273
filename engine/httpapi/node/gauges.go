package node

import (
	"cmp"
	"context"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/tracker"
)

// gauges returns the gauges sorted by name.
func (h *Handler) gauges(ctx context.Context) []api.GaugeValue {
	g := gauges{}
	h.addHost(&g)
	var usage runtime.MemStats
	runtime.ReadMemStats(&usage)
	g.add("nomad.runtime.num_goroutines", float64(runtime.NumGoroutine()), nil)
	g.add("nomad.runtime.alloc_bytes", float64(usage.Alloc), nil)
	g.add("nomad.runtime.sys_bytes", float64(usage.Sys), nil)
	g.add("nomad.runtime.heap_objects", float64(usage.HeapObjects), nil)
	g.add("nomad.runtime.total_gc_runs", float64(usage.NumGC), nil)
	now := h.run.Look()
	counts := map[string]int{api.AllocClientStatusPending: 0, api.AllocClientStatusRunning: 0, "terminal": 0}
	statuses := map[string]int{"pending": 0, "running": 0, "dead": 0}
	var cpu, memory int // of the allocations, in MHz and MiB
	for _, j := range now.Jobs {
		statuses[*j.Status]++
		for group, n := range now.Summary(j).Summary {
			labels := map[string]string{"job": *j.ID, "task_group": group, "namespace": *j.Namespace}
			for state, count := range map[string]int{
				"queued": n.Queued, "complete": n.Complete, "failed": n.Failed, "running": n.Running, "starting": n.Starting, "lost": n.Lost, "unknown": n.Unknown,
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
			labels := func(task string) map[string]string {
				return map[string]string{"job": *j.ID, "task_group": a.Group, "alloc_id": a.ID, "task": task, "namespace": *j.Namespace}
			}
			for task, use := range a.Stats(ctx, "").Tasks {
				g.addTask(use, labels(task))
			}
			for task, granted := range a.Granted {
				cpu, memory = cpu+granted.CPU, memory+granted.MemoryMB
				g.add("nomad.client.allocs.cpu.allocated", float64(granted.CPU), labels(task))
				g.add("nomad.client.allocs.memory.allocated", float64(granted.MemoryMB)*(1<<20), labels(task))
			}
		}
	}
	for state, n := range counts {
		g.add("nomad.client.allocations."+state, float64(n), h.nodeLabels())
	}
	for status, n := range statuses {
		g.add("nomad.nomad.job_status."+status, float64(n), nil)
	}
	g.add("nomad.client.allocated.cpu", float64(cpu), h.nodeLabels())
	g.add("nomad.client.allocated.memory", float64(memory), h.nodeLabels())
	g.add("nomad.client.unallocated.cpu", h.attribute("cpu.totalcompute")-float64(cpu), h.nodeLabels())
	g.add("nomad.client.unallocated.memory", h.attribute("memory.totalbytes")/(1<<20)-float64(memory), h.nodeLabels())
	slices.SortStableFunc(g.list, func(a, b api.GaugeValue) int { return strings.Compare(a.Name, b.Name) })
	return g.list
}

// attribute returns a number among the attributes of the machine, or 0.
func (h *Handler) attribute(name string) float64 {
	text, _ := h.run.Machine.Attribute(name)
	number, _ := strconv.ParseFloat(text, 64)
	return number
}

func (h *Handler) nodeLabels() map[string]string {
	n := h.run.Machine
	return map[string]string{
		"node_id": n.ID, "datacenter": n.Datacenter, "node_class": cmp.Or(n.Class, "none"), "node_pool": n.Pool, "host": n.Name,
	}
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
	g.list = append(g.list, api.GaugeValue{Name: name, Value: float32(value), DisplayLabels: nonNil(labels)})
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
