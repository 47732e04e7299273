package jobspec

import (
	"github.com/hashicorp/hcl/v2"

	"taskrun/jobspec/decode"
)

// fileForm is the outermost level of a job file.
type fileForm struct {
	Variables []*variableForm `hcl:"variable,block"`
	Defaults  []*bodyForm     `hcl:"variables,block"`
	Locals    []*bodyForm     `hcl:"locals,block"`
	Jobs      []*jobBlock     `hcl:"job,block"`
}

// variableForm is a variable block.
type variableForm struct {
	Name        string            `hcl:",label"`
	Type        hcl.Expression    `hcl:"type,optional"`
	Default     hcl.Expression    `hcl:"default,optional"`
	Description hcl.Expression    `hcl:"description,optional"`
	Validations []*validationForm `hcl:"validation,block"`

	decode.Placed
}

// validationForm is a validation block of a variable.
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
