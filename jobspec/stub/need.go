package stub

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// Kinds of blocks that a job may need, and of placeholders. The labels of those in
// the node block are names of references, such as "meta.rack".
const (
	NomadVariable = "nomad_variable"
	ConsulKey     = "consul_key"
	VaultSecret   = "vault_secret"
	ServiceBlock  = "service"
	VolumeBlock   = "host_volume"
	ArtifactBlock = "artifact"
	NodeBlock     = "node"
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

// NeedOf returns the need for a block, whose label may be written in several ways.
func NeedOf(kind, label string) Need {
	switch kind {
	case NomadVariable:
		key := keyOf(label)
		label = VariableLabel(key.path, key.namespace)
	case ConsulKey:
		label = strings.TrimPrefix(label, "/")
	case VaultSecret:
		label = strings.Trim(label, "/")
	}
	return Need{kind, label}
}

// Fits reports whether the block satisfies a request for a label. A list requests
// all blocks whose labels start with it.
func (n Need) Fits(label string, list bool) bool {
	switch n.Kind {
	case NomadVariable:
		own, asked := keyOf(n.Label), keyOf(label)
		return own == asked || list && (own.namespace == asked.namespace || asked.namespace == "*") && strings.HasPrefix(own.path, asked.path)
	case ConsulKey:
		label = strings.TrimPrefix(label, "/")
	case VaultSecret:
		if list {
			_, below := secretIn(n.Label, label)
			return below
		}
		_, found := secretPath(label, func(path string) bool { return path == n.Label })
		return found
	}
	return n.Label == label || list && strings.HasPrefix(n.Label, label)
}

type variableKey struct{ namespace, path string }

// keyOf splits the label of a Nomad variable, path@namespace.
func keyOf(label string) variableKey {
	path, namespace, _ := strings.Cut(label, "@")
	return variableKey{cmp.Or(namespace, api.DefaultNamespace), strings.Trim(path, "/")}
}

// VariableLabel returns the label of the block of a Nomad variable.
func VariableLabel(path, namespace string) string {
	if namespace == "" || namespace == api.DefaultNamespace {
		return path
	}
	return path + "@" + namespace
}

// Request is a request of a template, found by its execution.
type Request struct {
	Need

	Template int  // index of the block
	List     bool // it requests all values whose names start with the label
	Varies   bool // the name differs in every run
}

// Upstreams returns the names of the services that the sidecar or the ingress
// gateway of a service reaches.
func Upstreams(s *api.Service) (names []string) {
	if s.Connect == nil {
		return nil
	}
	if sidecar := s.Connect.SidecarService; sidecar != nil && sidecar.Proxy != nil {
		for _, u := range sidecar.Proxy.Upstreams {
			names = append(names, u.DestinationName)
		}
	}
	if gateway := s.Connect.Gateway; gateway != nil && gateway.Ingress != nil {
		for _, l := range gateway.Ingress.Listeners {
			for _, to := range l.Services {
				if to.Name != "*" {
					names = append(names, to.Name)
				}
			}
		}
	}
	return names
}
