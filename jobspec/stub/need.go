package stub

import (
	"cmp"
	"fmt"
)

// Kinds of blocks that a job may need.
const (
	NomadVariable = "nomad_variable"
	ConsulKey     = "consul_key"
	VaultSecret   = "vault_secret"
	ServiceBlock  = "service"
	VolumeBlock   = "host_volume"
	ArtifactBlock = "artifact"
)

// kinds has the name of each kind of block in messages, and an example of its
// content.
var kinds = map[string]struct{ words, example string }{
	NomadVariable: {"Nomad variable", ` { NAME = "…" }`},
	ConsulKey:     {"Consul key", ` { value = "…" }`},
	VaultSecret:   {"Vault secret", ` { NAME = "…" }`},
	ServiceBlock:  {"service", " { port = … }"},
	VolumeBlock:   {"host volume", ` { path = "…" }`},
	ArtifactBlock: {"artifact", ` { source = "…" }`},
}

// Need is a block of the stubs file that a job needs.
type Need struct {
	Kind  string
	Label string
}

// Words returns the name of the kind in messages.
func (n Need) Words() string { return cmp.Or(kinds[n.Kind].words, n.Kind) }

// Block returns an example of the block.
func (n Need) Block() string { return fmt.Sprintf("%s %q%s", n.Kind, n.Label, kinds[n.Kind].example) }

// VariableLabel returns the label of the block of a Nomad variable.
func VariableLabel(path, namespace string) string {
	if namespace == "" || namespace == "default" {
		return path
	}
	return path + "@" + namespace
}

// Request is what a template requests, as its execution shows it.
type Request struct {
	Need

	Template int  // index of the block
	List     bool // it requests all values whose names start with the label
	Varies   bool // the name differs in every run
}
