package template

import (
	"strings"

	dep "github.com/hashicorp/consul-template/dependency"

	"taskrun/jobspec/standin"
)

// NeedOf returns what a stand-in must lend to answer a dependency.
func NeedOf(d dep.Dependency) standin.Need {
	kind, arg := question(d)
	name, _, _ := strings.Cut(arg, "@")
	switch {
	case strings.HasPrefix(kind, "kv."):
		return standin.Need{Kind: standin.ConsulKey, Label: name}
	case strings.HasPrefix(kind, "nomad.var."):
		path, namespace := variablePath(arg)
		return standin.Need{Kind: standin.NomadVariable, Label: standin.VariableLabel(path, namespace)}
	case kind == "vault.read":
		return standin.Need{Kind: standin.VaultSecret, Label: version().ReplaceAllString(arg, "")}
	case strings.HasPrefix(kind, "vault."):
		name, _, _ = strings.Cut(arg, "->")
		return standin.Need{Kind: standin.VaultSecret, Label: strings.TrimSpace(name)}
	}
	return standin.Need{Kind: kind, Label: arg}
}
