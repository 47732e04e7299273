//go:build !linux

package rawexec

import (
	"errors"
	"os"
)

// openCgroup is never called: checkPlacement returns an error first.
func openCgroup(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// checkPlacement returns an error if this system cannot place the task as its
// config requests.
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
