package rawexec

import (
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"

	"taskrun/drivers/schema"
)

// taskSchema names the options of a task's config block; see
// https://developer.hashicorp.com/nomad/docs/drivers/raw_exec#task-configuration.
var taskSchema = schema.Join(
	schema.Required(cty.String, "command"),
	schema.Optional(cty.String, "work_dir", "cgroup_v2_override"),
	schema.Optional(cty.Number, "oom_score_adj"),
	schema.Optional(schema.Texts, "args", "denied_envvars"),
	schema.Optional(schema.TextMap, "cgroup_v1_override"))

// TaskConfig is a config block, decoded.
type TaskConfig struct {
	Command          string              `cty:"command"`
	Args             []string            `cty:"args"`
	WorkDir          *string             `cty:"work_dir"`
	DeniedEnvvars    []string            `cty:"denied_envvars"`
	OOMScoreAdj      *int                `cty:"oom_score_adj"`
	CgroupV1Override []map[string]string `cty:"cgroup_v1_override"` // controller → path
	CgroupV2Override *string             `cty:"cgroup_v2_override"`
}

func decodeConfig(val cty.Value, _ string) (*TaskConfig, error) {
	var c TaskConfig
	if err := gocty.FromCtyValue(val, &c); err != nil {
		return nil, fmt.Errorf("failed to decode driver config: %s%w", optionOf(err), err)
	}
	return &c, nil
}

// optionOf returns the name of the option that an error of gocty is about.
func optionOf(err error) string {
	pathErr, ok := errors.AsType[cty.PathError](err)
	if !ok || len(pathErr.Path) == 0 {
		return ""
	}
	if step, ok := pathErr.Path[0].(cty.GetAttrStep); ok {
		return step.Name + ": "
	}
	return ""
}
