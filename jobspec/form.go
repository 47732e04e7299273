package jobspec

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/decode"
	"taskrun/jobspec/diagnostic"
)

// In a few blocks, a job file allows more than api.Job can store. A form embeds
// the API's struct and adds the other fields; Finish converts those.

// forms creates the forms of one job, and keeps those that are needed later.
type forms struct {
	job    *jobForm
	groups map[*api.TaskGroup]*groupForm
}

// of returns the form of an API struct, or nil.
func (f *forms) of(target any) any {
	switch target := target.(type) {
	case *api.Job:
		f.job = &jobForm{Job: target}
		return f.job
	case *api.TaskGroup:
		form := &groupForm{TaskGroup: target}
		f.groups[target] = form
		return form
	case *api.Task:
		return &taskForm{Task: target}
	case *api.Constraint:
		return &constraintForm{Constraint: target}
	case *api.Affinity:
		return &affinityForm{Affinity: target}
	default:
		return nil
	}
}

// jobForm is the job block. Tasks come first, because each of them becomes a
// group of its own, before the other groups.
type jobForm struct {
	*api.Job

	Tasks   []*api.Task       `hcl:"task,block"`
	Meta    map[string]string `hcl:"meta,either"`
	Vault   *api.Vault        `hcl:"vault,block"`
	Secrets []*api.Secret     `hcl:"secret,block"`
}

// Finish stores the fields that can be written in two ways.
func (f *jobForm) Finish(decode.Block) hcl.Diagnostics {
	f.Job.Meta = f.Meta
	return nil
}

type groupForm struct {
	*api.TaskGroup

	Meta    map[string]string `hcl:"meta,either"`
	Scaling *groupScaling     `hcl:"scaling,block"`
	Vaults  []*groupVault     `hcl:"vault,block"`
	Secrets []*groupSecret    `hcl:"secret,block"`
}

// groupVault and groupSecret are blocks whose errors Nomad ignores.
type (
	groupVault struct {
		api.Vault

		header hcl.Range
	}
	groupSecret struct{ api.Secret }
)

// Finish records the place of the block.
func (f *groupVault) Finish(b decode.Block) hcl.Diagnostics {
	f.header = b.Header
	return nil
}

// Tolerate turns errors into warnings.
func (*groupVault) Tolerate() {}

// Tolerate turns errors into warnings.
func (*groupSecret) Tolerate() {}

// Finish stores the parts of the group that have forms.
func (f *groupForm) Finish(decode.Block) hcl.Diagnostics {
	f.TaskGroup.Meta = f.Meta
	if f.Scaling != nil {
		f.TaskGroup.Scaling = &f.Scaling.ScalingPolicy
	}
	var diags hcl.Diagnostics
	for i, vault := range f.Vaults[min(1, len(f.Vaults)):] {
		diags = append(diags, diagnostic.Warning(vault.header, `"vault" is given twice`,
			fmt.Sprintf("this one takes the place of the one on line %d", f.Vaults[i].header.Start.Line), "delete one of them"))
	}
	return diags
}

// groupScaling is the scaling block of a group, in which max is required.
type groupScaling struct {
	api.ScalingPolicy

	Max int64 `hcl:"max"`
}

// Finish stores max and checks the type.
func (f *groupScaling) Finish(b decode.Block) hcl.Diagnostics {
	if b.Has("max") {
		f.ScalingPolicy.Max = &f.Max
	}
	return setScalingType(&f.ScalingPolicy, "horizontal", b)
}

type taskForm struct {
	*api.Task

	Env     map[string]string `hcl:"env,either"`
	Meta    map[string]string `hcl:"meta,either"`
	Scaling []*taskScaling    `hcl:"scaling,block"`
}

// Finish stores the parts of the task that have forms.
func (f *taskForm) Finish(decode.Block) hcl.Diagnostics {
	var diags hcl.Diagnostics
	f.Task.Env, f.Task.Meta = f.Env, f.Meta
	first := map[string]hcl.Range{}
	for _, s := range f.Scaling {
		if at, ok := first[s.resource]; ok && s.resource != "" {
			diags = append(diags, diagnostic.Error(s.header, fmt.Sprintf("scaling %q is given twice", s.resource),
				fmt.Sprintf("the first is on line %d", at.Start.Line), ""))
		}
		first[s.resource] = s.header
		f.ScalingPolicies = append(f.ScalingPolicies, &s.ScalingPolicy)
	}
	return diags
}

// taskScaling is a scaling block of a task. Its label names the resource to
// scale.
type taskScaling struct {
	api.ScalingPolicy

	Label string `hcl:",label"`

	resource string
	header   hcl.Range
}

// Finish checks the label and the type.
func (f *taskScaling) Finish(b decode.Block) hcl.Diagnostics {
	f.header = b.Header
	switch f.resource = strings.ToLower(f.Label); f.resource {
	case "cpu", "mem":
		return setScalingType(&f.ScalingPolicy, "vertical_"+f.resource, b)
	default:
		return hcl.Diagnostics{diagnostic.Error(b.Label, fmt.Sprintf("cannot scale %q", f.Label),
			`the label of a scaling block in a task is "cpu" or "mem"`, "")}
	}
}

func setScalingType(p *api.ScalingPolicy, wanted string, b decode.Block) hcl.Diagnostics {
	if p.Type != "" && p.Type != wanted {
		return hcl.Diagnostics{diagnostic.Error(b.At("type"), fmt.Sprintf("the type of this scaling policy must be %q", wanted),
			fmt.Sprintf("it is %q", p.Type), "leave it out")}
	}
	p.Type = wanted
	return nil
}

// fileForm is the outermost level of a job file.
type fileForm struct {
	Variables []*variableForm `hcl:"variable,block"`
	Defaults  []*bodyForm     `hcl:"variables,block"`
	Locals    []*bodyForm     `hcl:"locals,block"`
	Jobs      []*jobBlock     `hcl:"job,block"`
}

type variableForm struct {
	Name        string            `hcl:",label"`
	Type        hcl.Expression    `hcl:"type,optional"`
	Default     hcl.Expression    `hcl:"default,optional"`
	Description hcl.Expression    `hcl:"description,optional"`
	Validations []*validationForm `hcl:"validation,block"`

	decode.Placed
}

type validationForm struct {
	Condition    hcl.Expression `hcl:"condition"`
	ErrorMessage hcl.Expression `hcl:"error_message"`

	decode.Placed
}

// bodyForm is a block with attributes of any name.
type bodyForm struct {
	Body hcl.Body `hcl:",body"`
}

// jobBlock is the job block, before the scope of its expressions is known.
type jobBlock struct {
	Label string   `hcl:",label"`
	Body  hcl.Body `hcl:",body"`

	decode.Placed
}
