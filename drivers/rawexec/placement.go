package rawexec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"taskrun/drivers/process"
)

// placement is what the kernel is to be told of a task's processes. All that
// can be found wrong is found before the start.
type placement struct {
	cgroup *os.File   // of the v2 hierarchy, in which the process starts; or nil
	joins  []*os.File // cgroup.procs of the v1 hierarchies
	oom    string     // oom_score_adj, "" to leave it as it is
}

// place prepares a task's placement. It must be closed.
func (c *taskConfig) place() (p *placement, err error) {
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
	if c.CgroupV2Override != nil {
		path := below(cgroupRoot, *c.CgroupV2Override)
		if p.cgroup, err = openCgroup(path); err != nil {
			return p, fmt.Errorf("cannot join cgroup %q: %w", path, reason(err))
		}
	}
	for _, paths := range c.CgroupV1Override {
		for controller, path := range paths {
			path = below(filepath.Join(cgroupRoot, controller), path)
			procs, err := os.OpenFile(filepath.Join(path, "cgroup.procs"), os.O_WRONLY, 0)
			if err != nil {
				return p, fmt.Errorf("cannot join cgroup %q: %w", path, reason(err))
			}
			p.joins = append(p.joins, procs)
		}
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

// apply tells the kernel of a process, and of all that it has started since.
func (p *placement) apply(task *process.Process) error {
	if p.oom == "" && len(p.joins) == 0 {
		return nil
	}
	return task.ForTree(func(pid int) error {
		for _, procs := range p.joins {
			if _, err := procs.WriteString(strconv.Itoa(pid)); err != nil && !isGone(err) {
				return fmt.Errorf("cannot join cgroup %q: %w", filepath.Dir(procs.Name()), reason(err))
			}
		}
		if p.oom == "" {
			return nil
		}
		err := os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte(p.oom), 0)
		if err != nil && !isGone(err) {
			return fmt.Errorf("cannot set oom_score_adj to %s: %w", p.oom, reason(err))
		}
		return nil
	})
}

func (p *placement) close() {
	closeFiles(p.cgroup)
	closeFiles(p.joins...)
}

// isGone reports whether an error means that a process has ended.
func isGone(err error) bool {
	return errors.Is(err, syscall.ESRCH) || errors.Is(err, fs.ErrNotExist)
}

// reason returns an error without the operation and the path that os adds.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
