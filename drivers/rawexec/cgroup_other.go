//go:build !linux

package rawexec

import (
	"errors"
	"os"
)

// openCgroup: checkPlacement has refused.
func openCgroup(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// checkPlacement says why this system cannot do what a task asks for.
func (c *TaskConfig) checkPlacement() error {
	switch {
	case c.CgroupV2Override != nil:
		return errors.New("cgroup_v2_override needs Linux")
	case c.CgroupV1Override != nil:
		return errors.New("cgroup_v1_override needs Linux")
	case c.OOMScoreAdj != nil:
		return errors.New("oom_score_adj needs Linux")
	}
	return nil
}
