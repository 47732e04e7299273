package rawexec

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"
)

// schema names the options of a task's config block; see
// https://developer.hashicorp.com/nomad/docs/drivers/raw_exec#task-configuration.
var schema = hcldec.ObjectSpec{
	"command":            &hcldec.AttrSpec{Name: "command", Type: cty.String, Required: true},
	"args":               &hcldec.AttrSpec{Name: "args", Type: cty.List(cty.String)},
	"work_dir":           &hcldec.AttrSpec{Name: "work_dir", Type: cty.String},
	"denied_envvars":     &hcldec.AttrSpec{Name: "denied_envvars", Type: cty.List(cty.String)},
	"oom_score_adj":      &hcldec.AttrSpec{Name: "oom_score_adj", Type: cty.Number},
	"cgroup_v1_override": &hcldec.AttrSpec{Name: "cgroup_v1_override", Type: cty.List(cty.Map(cty.String))},
	"cgroup_v2_override": &hcldec.AttrSpec{Name: "cgroup_v2_override", Type: cty.String},
}

// taskConfig is a config block.
type taskConfig struct {
	Command          string              `cty:"command"`
	Args             []string            `cty:"args"`
	WorkDir          *string             `cty:"work_dir"`
	DeniedEnvvars    []string            `cty:"denied_envvars"`
	OOMScoreAdj      *int                `cty:"oom_score_adj"`
	CgroupV1Override []map[string]string `cty:"cgroup_v1_override"` // controller → path
	CgroupV2Override *string             `cty:"cgroup_v2_override"`
}

func decodeConfig(val cty.Value) (*taskConfig, error) {
	if val == cty.NilVal {
		return nil, errors.New("failed to decode driver config: it is missing")
	}
	var c taskConfig
	if err := gocty.FromCtyValue(val, &c); err != nil {
		return nil, fmt.Errorf("failed to decode driver config: %s%w", optionOf(err), err)
	}
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("failed driver config validation: %w", err)
	}
	return &c, nil
}

func (c *taskConfig) validate() error {
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
