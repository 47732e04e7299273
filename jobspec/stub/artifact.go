package stub

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/artifact"
	"taskrun/jobspec/taskenv"
)

// Artifact replaces parts of the artifacts with a source.
type Artifact struct {
	Label   string            // their source in the job file
	Source  string            // without credentials of the job file; empty: unchanged
	Options map[string]string // added
	Headers map[string]string // added
	At      jobspec.Range
}

// artifacts reads the artifact blocks.
func (p *parser) artifacts(forms []*artifactForm) {
	for _, f := range forms {
		a := Artifact{Label: f.Label, Source: f.Source, At: jobspec.RangeOf(f.Block.Header)}
		if f.Options != nil {
			a.Options = p.texts(f.Options.Body)
		}
		if f.Headers != nil {
			a.Headers = p.texts(f.Headers.Body)
		}
		if a.Source == "" && f.Block.Has("source") && !p.isRefused(f.Block.At("source")) {
			p.refuse(f.Block.At("source"), "the source is empty", "", `write a URL or a path, or TODO("source") for a rehearsal`)
		}
		if !strings.Contains(a.Source, ":") && !filepath.IsAbs(a.Source) && artifact.Kind(a.Source) == artifact.File && a.Source != "" {
			a.Source = filepath.Join(p.dir, a.Source)
		}
		if slices.ContainsFunc(p.set.Artifacts, func(other Artifact) bool { return other.Label == a.Label }) {
			p.twice(f.Block, "artifact", a.Label)
		}
		p.set.Artifacts = append(p.set.Artifacts, a)
	}
}

// secrets returns the values that no message may show.
func (o Artifact) secrets() (values []string) {
	for name, value := range o.Options {
		if artifact.IsSecret(name) {
			values = append(values, value)
		}
	}
	return slices.AppendSeq(values, maps.Values(o.Headers))
}

// applyTo changes an artifact of a job according to the block with its source.
func (s *Set) applyTo(a *api.TaskArtifact, at jobspec.Positions, path jobspec.Path) {
	i := slices.IndexFunc(s.Artifacts, func(o Artifact) bool { return o.Label == deref(a.GetterSource) })
	if i < 0 {
		return
	}
	o := s.Artifacts[i]
	if o.Source != "" {
		a.GetterSource = new(o.Source)
		a.GetterOptions = maps.Clone(a.GetterOptions)
		maps.DeleteFunc(a.GetterOptions, func(name, _ string) bool { return artifact.IsSecret(name) })
		at[path.Attr("source")] = o.At
	}
	a.GetterOptions = with(a.GetterOptions, o.Options)
	a.GetterHeaders = with(a.GetterHeaders, o.Headers)
	for part, values := range map[string]map[string]string{"options": o.Options, "headers": o.Headers} {
		for name := range values {
			at[path.Attr(part).Attr(name)] = o.At
		}
	}
}

// with returns a map with additions. It changes neither.
func with(values, added map[string]string) map[string]string {
	if len(added) == 0 {
		return values
	}
	all := maps.Clone(values)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, added)
	return all
}

// artifacts adds what the artifacts of a task lack here: a source that can be
// downloaded, and credentials that the job file leaves to its surroundings.
func (k *needs) artifacts(t *api.Task, at jobspec.Path) {
	for i, a := range t.Artifacts {
		source := deref(a.GetterSource)
		need, line := Need{ArtifactBlock, source}, k.line(at.Index("artifact", i), 0)
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

// isUnknown reports whether a value is empty, or refers to what neither the job
// file nor another stub provides.
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

// artifactLines returns the content of an artifact block.
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
