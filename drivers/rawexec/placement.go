package rawexec

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"taskrun/drivers"
	"taskrun/drivers/cgroup"
	"taskrun/drivers/process"
)

// placement is where the kernel puts a task's processes. It is checked before
// the start.
type placement struct {
	cgroup *os.File   // of the v2 hierarchy, or nil
	tasks  []*os.File // files named tasks in cgroups of the v1 hierarchies
	oom    string     // oom_score_adj; "" leaves it unchanged
}

// place starts a process of the task in the task's cgroups. On error nothing is
// left behind.
func (t *task) place(run *process.Run, spec process.Spec) (*process.Process, error) {
	where, err := t.config.placement(t.group)
	if err != nil {
		return nil, err
	}
	defer where.close()
	spec.Cgroup, spec.Tasks = where.cgroup, where.tasks
	if where.oom != "" {
		spec.Prepare = where.prepare
	}
	return run.Start(spec)
}

// placement opens everything that a process has to join: the cgroup of the
// task, if it has one, or those of the user. The caller must close it.
func (c *TaskConfig) placement(group *cgroup.Group) (p *placement, err error) {
	p = &placement{}
	defer func() {
		if err != nil {
			p.close()
			p = nil
		}
	}()
	if c.OOMScoreAdj != nil {
		p.oom = strconv.Itoa(*c.OOMScoreAdj)
	}
	var version1 []string
	if group != nil && !group.Version2() {
		version1 = group.Dirs()
	}
	for _, paths := range c.CgroupV1Override {
		for controller, path := range paths {
			version1 = append(version1, below(filepath.Join(cgroupRoot, controller), path))
		}
	}
	for _, path := range version1 {
		tasks, err := os.OpenFile(filepath.Join(path, "tasks"), os.O_WRONLY, 0)
		if err != nil {
			return p, fmt.Errorf("cannot join cgroup %q: %w", path, reason(err))
		}
		p.tasks = append(p.tasks, tasks)
	}
	path := ""
	switch {
	case group != nil && group.Version2():
		path = group.Dirs()[0]
	case c.CgroupV2Override != nil:
		path = below(cgroupRoot, *c.CgroupV2Override)
	default:
		return p, nil
	}
	if p.cgroup, err = openCgroup(path); err != nil {
		return p, fmt.Errorf("cannot join cgroup %q: %w", path, reason(err))
	}
	return p, nil
}

// cgroupRoot is where every system mounts the cgroup file systems.
const cgroupRoot = "/sys/fs/cgroup"

func below(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// prepare sets up a process before its command runs, so that its children
// inherit the settings.
func (p *placement) prepare(pid int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte(p.oom), 0); err != nil {
		return fmt.Errorf("cannot set oom_score_adj to %s: %w", p.oom, reason(err))
	}
	return nil
}

func (p *placement) close() {
	closeFiles(p.cgroup)
	closeFiles(p.tasks...)
}

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
