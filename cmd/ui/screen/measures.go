package screen

import (
	"fmt"
	"strings"
)

// Usage is the resource usage of a task.
type Usage struct {
	CPU    float64 // percent of a core
	Memory uint64  // bytes
}

// Port is a port of an allocation.
type Port struct{ Label, Address string }

// measures are the measured values of tasks, which are not in their events.
type measures struct {
	usage map[Target]Usage
	ports map[string][]Port // by ID of the allocation
}

// usageOf returns what the tasks of a row use, or nothing unless all that are running
// have been measured.
func (m *measures) usageOf(r *row) (cpu, memory string) {
	var sum Usage
	known := false
	for _, t := range r.tasks {
		if !isRunning(t) {
			continue
		}
		u, ok := m.usage[targetOf(t.Alloc.Alloc, t.Name)]
		if !ok {
			return "", ""
		}
		known = true
		sum.CPU += u.CPU
		sum.Memory += u.Memory
	}
	if !known {
		return "", ""
	}
	return fmt.Sprintf("%.1f%%", sum.CPU), fmt.Sprintf("%.1fMiB", float64(sum.Memory)/(1<<20))
}

func (m *measures) portsOf(r *row) string {
	if r.level != allocRow {
		return ""
	}
	var ports []string
	for _, p := range m.ports[r.alloc.ID] {
		ports = append(ports, p.Label+" "+p.Address[strings.LastIndexByte(p.Address, ':')+1:])
	}
	return strings.Join(ports, ", ")
}
