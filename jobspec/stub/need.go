package stub

import "fmt"

// The kinds of blocks that can be needed.
const (
	NomadVariable = "nomad_variable"
	ConsulKey     = "consul_key"
	VaultSecret   = "vault_secret"
	ServiceBlock  = "service"
	VolumeBlock   = "host_volume"
)

// Need is a block of the stubs file that a job asks for.
type Need struct {
	Kind  string
	Label string
}

// Words names the kind of thing.
func (n Need) Words() string {
	switch n.Kind {
	case ConsulKey:
		return "Consul key"
	case NomadVariable:
		return "Nomad variable"
	case VaultSecret:
		return "Vault secret"
	case ServiceBlock:
		return "service"
	case VolumeBlock:
		return "host volume"
	default:
		return n.Kind
	}
}

// Block shows how the block is written.
func (n Need) Block() string {
	switch n.Kind {
	case ConsulKey:
		return fmt.Sprintf(`consul_key %q { value = "…" }`, n.Label)
	case NomadVariable, VaultSecret:
		return fmt.Sprintf(`%s %q { NAME = "…" }`, n.Kind, n.Label)
	case ServiceBlock:
		return fmt.Sprintf(`service %q { port = … }`, n.Label)
	case VolumeBlock:
		return fmt.Sprintf(`host_volume %q { path = "…" }`, n.Label)
	default:
		return fmt.Sprintf("%s %q", n.Kind, n.Label)
	}
}

// VariableLabel is the label of the block of a Nomad variable.
func VariableLabel(path, namespace string) string {
	if namespace == "" || namespace == "default" {
		return path
	}
	return path + "@" + namespace
}
