package stub

import (
	"github.com/hashicorp/hcl/v2"

	"taskrun/jobspec/decode"
)

// fileForm is the top level of a stubs file.
type fileForm struct {
	Values      []*bodyForm     `hcl:"variables,block"`
	Variables   []*labeledForm  `hcl:"nomad_variable,block"`
	Keys        []*keyForm      `hcl:"consul_key,block"`
	Secrets     []*labeledForm  `hcl:"vault_secret,block"`
	Services    []*serviceForm  `hcl:"service,block"`
	HostVolumes []*volumeForm   `hcl:"host_volume,block"`
	Artifacts   []*artifactForm `hcl:"artifact,block"`
	Node        *nodeForm       `hcl:"node,block"`
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
	Name      string            `hcl:",label"`
	Provider  string            `hcl:"provider,optional"`
	Namespace string            `hcl:"namespace,optional"`
	Address   string            `hcl:"address,optional"`
	Port      int               `hcl:"port"`
	Tags      []string          `hcl:"tags,optional"`
	Meta      map[string]string `hcl:"meta,either"`
	decode.Placed
}

type volumeForm struct {
	Name     string `hcl:",label"`
	Path     string `hcl:"path"`
	ReadOnly bool   `hcl:"read_only,optional"`
	decode.Placed
}

type artifactForm struct {
	Label   string    `hcl:",label"`
	Source  string    `hcl:"source,optional"`
	Options *bodyForm `hcl:"options,block"`
	Headers *bodyForm `hcl:"headers,block"`
	decode.Placed
}

type nodeForm struct {
	Name       string            `hcl:"name,optional"`
	Class      string            `hcl:"class,optional"`
	Pool       string            `hcl:"pool,optional"`
	Datacenter string            `hcl:"datacenter,optional"`
	Meta       map[string]string `hcl:"meta,either"`
	Attributes map[string]string `hcl:"attributes,either"`
}

type tokenForm struct {
	Token string `hcl:"token"`
}

type taskForm struct {
	Target   string            `hcl:",label"`
	Driver   string            `hcl:"driver,optional"`
	User     *string           `hcl:"user,optional"`
	Config   map[string]any    `hcl:"config,block"`
	Env      map[string]string `hcl:"env,either"`
	Rehearse *rehearseForm     `hcl:"rehearse,block"`
	Watches  []*watchForm      `hcl:"watch,block"`

	Resources *Resources `hcl:"resources,block"`
	decode.Placed
}

type groupForm struct {
	Target      string            `hcl:",label"`
	Count       *int              `hcl:"count,optional"`
	Constraints []*constraintForm `hcl:"constraint,block"`
	Ports       []*portForm       `hcl:"port,block"`
	Resources   *Resources        `hcl:"resources,block"`
	decode.Placed
}

type constraintForm struct {
	Attribute string `hcl:"attribute"`
	Operator  string `hcl:"operator,optional"`
	Value     string `hcl:"value,optional"`
	decode.Placed
}

type portForm struct {
	Label  string `hcl:",label"`
	Static *int   `hcl:"static,optional"`
	To     *int   `hcl:"to,optional"`
	decode.Placed
}

type watchForm struct {
	Paths        []string `hcl:"paths"`
	Ignore       []string `hcl:"ignore,optional"`
	Build        []string `hcl:"build,optional"`
	OnChange     string   `hcl:"on_change,optional"`
	ChangeSignal string   `hcl:"change_signal,optional"`
	decode.Placed
}

type rehearseForm struct {
	RunFor   string `hcl:"run_for,optional"`
	ExitCode int    `hcl:"exit_code,optional"`
	decode.Placed
}
