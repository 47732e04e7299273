package rawexec

import (
	"taskrun/drivers"
	"taskrun/drivers/cgroup"
)

// EnforceMemory makes a cgroup for every task that has a memory limit, where
// this machine lets us. Without it there are no cgroups: what they can do for
// other tasks, package process does as well, and it takes no time.
func (d *Driver) EnforceMemory() (err error) {
	d.groups, err = cgroup.Open()
	return err
}

// EnforcesMemory reports whether that has succeeded.
func (d *Driver) EnforcesMemory() bool { return d.groups != nil }

// group makes the cgroup of a task, nil if it needs none. A task that is to
// join a cgroup of the user's has the limits of that one.
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
