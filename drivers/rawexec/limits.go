package rawexec

import (
	"taskrun/drivers"
	"taskrun/drivers/cgroup"
)

// EnforceMemory creates a cgroup for every task with a memory limit, if this
// machine allows it. Otherwise tasks have no cgroups: package process does
// without them, and is faster.
func (d *Driver) EnforceMemory() (err error) {
	d.groups, err = cgroup.Open()
	return err
}

// EnforcesMemory reports whether EnforceMemory has succeeded.
func (d *Driver) EnforcesMemory() bool { return d.groups != nil }

// group creates the cgroup of a task, or returns nil if it needs none. A task
// that joins a cgroup of the user has the limits of that one.
func (d *Driver) group(cfg *drivers.TaskConfig, c *TaskConfig) (*cgroup.Group, error) {
	limit := cfg.Resources.MemoryLimitBytes()
	if d.groups == nil || limit == 0 || c.CgroupV2Override != nil || c.CgroupV1Override != nil {
		return nil, nil
	}
	limits := cgroup.Limits{Memory: limit, CPUShares: cfg.Resources.CPU}
	if cfg.Resources.MemoryMaxMB > 0 {
		limits.Reserved = int64(cfg.Resources.MemoryMB) << 20
	}
	return d.groups.Make(cfg.ID, limits)
}
