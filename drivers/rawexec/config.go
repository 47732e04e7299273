package rawexec

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"

	"taskrun/drivers"
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

// TaskConfig is a config block, or what it stands for.
type TaskConfig struct {
	Command          string              `cty:"command"`
	Args             []string            `cty:"args"`
	WorkDir          *string             `cty:"work_dir"`
	DeniedEnvvars    []string            `cty:"denied_envvars"`
	OOMScoreAdj      *int                `cty:"oom_score_adj"`
	CgroupV1Override []map[string]string `cty:"cgroup_v1_override"` // controller → path
	CgroupV2Override *string             `cty:"cgroup_v2_override"`
}

// decode reads the config block of a task.
func (d *Driver) decode(cfg *drivers.TaskConfig) (*TaskConfig, error) {
	if cfg.Config == cty.NilVal || !cfg.Config.Type().IsObjectType() || cfg.Config.IsNull() {
		return nil, errors.New("failed to decode driver config: it is no object")
	}
	c, err := d.kind.Decode(cfg.Config, cfg.TaskDir())
	if err != nil {
		return nil, err
	}
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("failed driver config validation: %w", err)
	}
	return c, nil
}

func decodeConfig(val cty.Value, _ string) (*TaskConfig, error) {
	var c TaskConfig
	if err := gocty.FromCtyValue(val, &c); err != nil {
		return nil, fmt.Errorf("failed to decode driver config: %s%w", optionOf(err), err)
	}
	return &c, nil
}

func (c *TaskConfig) validate() error {
	switch {
	case c.Command == "":
		return errors.New("command must not be empty")
	case c.CgroupV1Override != nil && c.CgroupV2Override != nil:
		return errors.New("only one of cgroups_v1_override and cgroups_v2_override may be set")
	case c.OOMScoreAdj != nil && *c.OOMScoreAdj < 0:
		return errors.New("oom_score_adj must not be negative")
	case c.OOMScoreAdj != nil && *c.OOMScoreAdj > 1000:
		return errors.New("oom_score_adj must not be greater than 1000")
	case c.WorkDir != nil && !filepath.IsAbs(*c.WorkDir):
		return errors.New("work_dir must be an absolute path")
	}
	return c.checkPlacement()
}

// optionOf names the option that an error of gocty is about.
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
