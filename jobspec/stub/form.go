package stub

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/decode"
)

// The forms of blocks add to a type of the Set what it does not keep.

type fileForm struct {
	Values      []*bodyForm     `hcl:"variables,block"`
	Variables   []*labeledForm  `hcl:"nomad_variable,block"`
	Keys        []*keyForm      `hcl:"consul_key,block"`
	Secrets     []*labeledForm  `hcl:"vault_secret,block"`
	Services    []*serviceForm  `hcl:"service,block"`
	HostVolumes []*volumeForm   `hcl:"host_volume,block"`
	Artifacts   []*artifactForm `hcl:"artifact,block"`
	Node        *Node           `hcl:"node,block"`
	Vault       *tokenForm      `hcl:"vault,block"`
	Consul      *tokenForm      `hcl:"consul,block"`
	Groups      []*groupForm    `hcl:"group,block"`
	Tasks       []*taskForm     `hcl:"task,block"`
}

type bodyForm struct {
	Body hcl.Body `hcl:",body"`
}

// labeledForm is a block with attributes of any name.
type labeledForm struct {
	Label string   `hcl:",label"`
	Body  hcl.Body `hcl:",body"`
	decode.Placed
}

type keyForm struct {
	Key   string         `hcl:",label"`
	Value hcl.Expression `hcl:"value"`
	decode.Placed
}

type serviceForm struct {
	Service
	decode.Placed
}

type volumeForm struct {
	Name string `hcl:",label"`
	HostVolume
	decode.Placed
}

type artifactForm struct {
	Artifact
	Options *bodyForm `hcl:"options,block"`
	Headers *bodyForm `hcl:"headers,block"`
	decode.Placed
}

type tokenForm struct {
	Token string `hcl:"token"`
}

type taskForm struct {
	Task
	Rehearse *rehearseForm `hcl:"rehearse,block"`
	Watches  []*watchForm  `hcl:"watch,block"`
	decode.Placed
}

type groupForm struct {
	Group
	Constraints []*constraintForm `hcl:"constraint,block"`
	Ports       []*portForm       `hcl:"port,block"`
	decode.Placed
}

type constraintForm struct {
	api.Constraint
	Attribute string `hcl:"attribute"`
	decode.Placed
}

type portForm struct {
	Port
	decode.Placed
}

type watchForm struct {
	Watch
	decode.Placed
}

type rehearseForm struct {
	RunFor   string `hcl:"run_for,optional"`
	ExitCode int    `hcl:"exit_code,optional"`
	decode.Placed
}
