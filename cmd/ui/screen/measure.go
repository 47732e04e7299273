package screen

import (
	"fmt"
	"strings"
)

// usageOf returns what the tasks of a row use, or nothing unless all that are running
// have been measured.
func (m *Model) usageOf(r *row) (cpu, memory string) {
	var sum Usage
	known := false
	for _, t := range r.tasks {
		if t.State != "running" {
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

// portsOf returns the ports of the allocation of a row.
func (m *Model) portsOf(r *row) string {
	if r.level != allocRow {
		return ""
	}
	var ports []string
	for _, p := range m.ports[r.alloc.ID] {
		ports = append(ports, p.Label+" "+p.Address[strings.LastIndexByte(p.Address, ':')+1:])
	}
	return strings.Join(ports, ", ")
}
