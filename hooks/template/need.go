package template

import (
	"strings"

	dep "github.com/hashicorp/consul-template/dependency"

	"taskrun/jobspec/stub"
)

// NeedOf returns the stub that answers a dependency.
func NeedOf(d dep.Dependency) stub.Need {
	kind, arg := question(d)
	name, _, _ := strings.Cut(arg, "@")
	switch {
	case strings.HasPrefix(kind, "kv."):
		return stub.Need{Kind: stub.ConsulKey, Label: name}
	case strings.HasPrefix(kind, "nomad.var."):
		path, namespace := variablePath(arg)
		return stub.Need{Kind: stub.NomadVariable, Label: stub.VariableLabel(path, namespace)}
	case kind == "vault.read":
		return stub.Need{Kind: stub.VaultSecret, Label: version().ReplaceAllString(arg, "")}
	case strings.HasPrefix(kind, "vault."):
		name, _, _ = strings.Cut(arg, "->")
		return stub.Need{Kind: stub.VaultSecret, Label: strings.TrimSpace(name)}
	}
	return stub.Need{Kind: kind, Label: arg}
}
