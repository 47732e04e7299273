package validate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

const (
	minCPU        = 1 // MHz
	minMemoryMB   = 10
	memoryNoLimit = -1
)

func (t *task) resources() {
	r := t.t.Resources
	if r == nil {
		return
	}
	at := t.at.Attr("resources")
	cpu, cores := deref(r.CPU), deref(r.Cores)
	switch {
	case cores < 0:
		t.wrong(at.Attr("cores"), "cores is negative", fmt.Sprintf("it is %d", cores), "write 1 or more")
	case cores > 0 && cpu > 0:
		t.refuse(at.Attr("cores"), "cpu and cores exclude each other", fmt.Sprintf("cpu is %d and cores is %d", cpu, cores), "keep one of them")
	case cores == 0 && cpu < minCPU:
		t.refuse(at.Attr("cpu"), "cpu is too small", fmt.Sprintf("it is %d MHz", cpu), fmt.Sprintf("write %d or more", minCPU))
	}
	t.memory(r, at)
	t.devices(r, at)
	t.noEffect(at.Attr("disk"), deref(r.DiskMB) != 0, "write ephemeral_disk { size = … } in the group")
	t.noEffect(at.Attr("iops"), deref(r.IOPS) != 0, "remove it")
}

func (t *task) memory(r *api.Resources, at jobspec.Path) {
	memory := deref(r.MemoryMB)
	if memory < minMemoryMB {
		t.wrong(at.Attr("memory"), "memory is too small", fmt.Sprintf("it is %d MB", memory), fmt.Sprintf("write %d or more", minMemoryMB))
	}
	if most := deref(r.MemoryMaxMB); most != 0 && most != memoryNoLimit && most < memory {
		t.refuse(at.Attr("memory_max"), "memory_max is below memory", fmt.Sprintf("memory_max is %d MB and memory is %d MB", most, memory),
			fmt.Sprintf("write %d or more, or -1 for no limit", memory))
	}
	switch secrets := deref(r.SecretsMB); {
	case secrets < 0:
		t.wrong(at.Attr("secrets"), "secrets is negative", fmt.Sprintf("it is %d MB", secrets), "write 1 or more")
	case secrets > memory:
		t.refuse(at.Attr("secrets"), "secrets exceeds memory",
			fmt.Sprintf("secrets is %d MB and memory is %d MB", secrets, memory), "the secrets directory is part of the task's memory: raise memory")
	}
}

func (t *task) devices(r *api.Resources, at jobspec.Path) {
	names := make([]string, 0, len(r.Devices))
	for d, at := range blocks(r.Devices, "device", at) {
		t.required(at, d.Name, "device has no name", `name it in the header: device "TYPE", "VENDOR/TYPE" or "VENDOR/TYPE/MODEL"`)
		t.taskConstraints(d.Constraints, "device", at)
		for a, at := range blocks(d.Affinities, "affinity", at) {
			t.affinity(a, at)
		}
		names = append(names, d.Name)
	}
	if r.NUMA == nil {
		return
	}
	at = at.Attr("numa")
	t.choice(at.Attr("affinity"), "NUMA affinity", r.NUMA.Affinity, "none", "prefer", "require")
	for _, name := range r.NUMA.Devices {
		if !slices.Contains(names, name) {
			t.refuse(at.Attr("devices"), fmt.Sprintf("device %q is not requested", name), fmt.Sprintf("by task %q", t.t.Name),
				cmp.Or(diagnostic.DidYouMean(name, names), fmt.Sprintf("add device %q {} to resources", name)))
		}
	}
}

// logs checks that a task's log files fit on the group's disk. Nomad requires
// this even for tasks that log nothing.
func (t *task) logs() {
	l := t.t.LogConfig
	if l == nil {
		return
	}
	at := t.at.Attr("logs")
	files, size := deref(l.MaxFiles), deref(l.MaxFileSizeMB)
	if files < 1 {
		t.wrong(at.Attr("max_files"), "max_files is too small", fmt.Sprintf("it is %d", files), "write 1 or more")
	}
	if size < 1 {
		t.wrong(at.Attr("max_file_size"), "max_file_size is too small", fmt.Sprintf("it is %d MB", size), "write 1 or more")
	}
	// Division instead of multiplication: the product may overflow.
	if disk := t.g.tg.EphemeralDisk; disk != nil && files > 0 && size > 0 && files > (deref(disk.SizeMB)-1)/size {
		t.refuse(at, "logs do not fit the ephemeral disk",
			fmt.Sprintf("%d files of %d MB fill the %d MB of group %q", files, size, deref(disk.SizeMB), t.g.name),
			"lower max_files or max_file_size, or raise ephemeral_disk.size")
	}
	if l.Enabled != nil {
		t.warn(at.Attr("enabled"), "enabled has no effect", "", fmt.Sprintf("write disabled = %t", !*l.Enabled))
	}
}
