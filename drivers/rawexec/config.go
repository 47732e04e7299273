package rawexec

import (
	"fmt"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers/schema"
	"taskrun/jobspec/taskenv"
)

// taskSchema is computed on first use.
var taskSchema = sync.OnceValue(schema.Of[TaskConfig])

// TaskConfig is a config block; see
// https://developer.hashicorp.com/nomad/docs/drivers/raw_exec#task-configuration.
type TaskConfig struct {
	Command          string              `cty:"command" required:"true"`
	Args             []string            `cty:"args"`
	WorkDir          *string             `cty:"work_dir"`
	DeniedEnvvars    []string            `cty:"denied_envvars"`
	OOMScoreAdj      *int                `cty:"oom_score_adj"`
	CgroupV1Override []map[string]string `cty:"cgroup_v1_override"` // controller → path
	CgroupV2Override *string             `cty:"cgroup_v2_override"`
}

func decodeConfig(val cty.Value, _ string) (*TaskConfig, error) {
	var c TaskConfig
	if err := taskenv.Decode(val, &c); err != nil {
		return nil, fmt.Errorf("failed to decode driver config: %w", err)
	}
	return &c, nil
}
