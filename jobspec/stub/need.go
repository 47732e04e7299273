package stub

import (
	"cmp"
	"fmt"
)

// The kinds of blocks that can be needed.
const (
	NomadVariable = "nomad_variable"
	ConsulKey     = "consul_key"
	VaultSecret   = "vault_secret"
	ServiceBlock  = "service"
	VolumeBlock   = "host_volume"
)

// kinds are the names of the blocks in messages, an example of their content,
// and the lines of a block that is to be filled in.
var kinds = map[string]struct {
	words, example string
	lines          []string
}{
	NomadVariable: {"Nomad variable", ` { NAME = "…" }`, nil},
	ConsulKey:     {"Consul key", ` { value = "…" }`, []string{`  value = ""`}},
	VaultSecret:   {"Vault secret", ` { NAME = "…" }`, nil},
	ServiceBlock:  {"service", " { port = … }", []string{`  address = "127.0.0.1"`, "  port = 0"}},
	VolumeBlock:   {"host volume", ` { path = "…" }`, []string{`  path = ""`}},
}

// Need is a block of the stubs file that a job asks for.
type Need struct {
	Kind  string
	Label string
}

// Words names the kind of thing.
func (n Need) Words() string { return cmp.Or(kinds[n.Kind].words, n.Kind) }

// Block shows how the block is written.
func (n Need) Block() string { return fmt.Sprintf("%s %q%s", n.Kind, n.Label, kinds[n.Kind].example) }

// VariableLabel is the label of the block of a Nomad variable.
func VariableLabel(path, namespace string) string {
	if namespace == "" || namespace == "default" {
		return path
	}
	return path + "@" + namespace
}
