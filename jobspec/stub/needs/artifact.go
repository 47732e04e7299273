package needs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/artifact"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// artifacts adds what the artifacts of a task lack here: a source that can be
// downloaded, and credentials that the job file leaves to its surroundings.
func (k *needs) artifacts(t *api.Task, at jobspec.Path) {
	for i, a := range t.Artifacts {
		source := deref(a.GetterSource)
		need, line := stub.NeedOf(stub.ArtifactBlock, source), k.line(at.Index("artifact", i), 0)
		where := "artifact of task " + t.Name
		if _, not := artifact.Unsupported(source); not || isUnknown(t, source) {
			b := k.add(need, line, where)
			b.optional = false
			b.has([]string{"source"}, nil)
			continue
		}
		var items []string
		for _, name := range slices.Sorted(maps.Keys(a.GetterOptions)) {
			if artifact.IsSecret(name) && isUnknown(t, a.GetterOptions[name]) {
				items = append(items, "options."+name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(a.GetterHeaders)) {
			if isUnknown(t, a.GetterHeaders[name]) {
				items = append(items, "headers."+name)
			}
		}
		switch {
		case len(items) > 0:
			b := k.add(need, line, where)
			b.optional = false
			b.has(items, nil)
		case artifact.IsSSH(source) && a.GetterOptions["sshkey"] == "":
			k.add(need, line, where+", unless the ssh agent has the key").has([]string{"options.sshkey"}, nil)
		}
	}
}

// isUnknown reports whether a value is empty, or has a reference that neither the
// job file nor another stub defines.
func isUnknown(t *api.Task, value string) bool {
	for name := range taskenv.References(value) {
		kind, _, _ := strings.Cut(name, ".")
		_, inEnv := t.Env[name]
		if !inEnv && !strings.HasPrefix(name, "NOMAD_") && !slices.Contains([]string{"attr", "meta", "node", "secret"}, kind) {
			return true
		}
	}
	return value == ""
}

func (b *block) artifactLines() (lines []string) {
	inner := map[string][]string{}
	for _, item := range b.items {
		part, name, ok := strings.Cut(item, ".")
		if !ok {
			return []string{fmt.Sprintf("source = TODO(%s)", quote(part))}
		}
		if hclsyntax.ValidIdentifier(name) {
			inner[part] = append(inner[part], fmt.Sprintf("%s = TODO(%s)", name, quote(name)))
		}
	}
	for _, part := range slices.Sorted(maps.Keys(inner)) {
		lines = append(append(append(lines, part+" {"), inner[part]...), "}")
	}
	return lines
}
