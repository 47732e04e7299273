package needs

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/syntax"
)

// Merge adds to the text of a stubs file a block for everything that a job file
// needs from a cluster and the text lacks. The user fills in the values. Merge
// keeps existing blocks, and adds none for services of the job itself. It returns
// the new text and a line for each addition. name is the name of the stubs file.
func Merge(text []byte, name string, job Job) (merged []byte, added []string, diagnostics jobspec.Diagnostics) {
	m := &merger{text: text, needs: needsOf(&job)}
	body, diags := syntax.Parse(text, name)
	if diags.HasErrors() {
		return nil, nil, jobspec.DiagnosticsOf(diags, nil)
	}
	var ok bool
	if m.body, ok = body.(*hclsyntax.Body); !ok {
		return nil, nil, jobspec.Diagnostics{{Summary: fmt.Sprintf("cannot add to the stubs file %q: it is JSON", name), Remedy: "write it in HCL's native syntax"}}
	}
	m.head()
	m.variables()
	for _, n := range m.order {
		m.block(m.blocks[n])
	}
	for _, e := range m.extended {
		m.insert(e.block, e.lines)
	}
	m.nodeBlock()
	m.remarks()
	merged = m.apply()
	if _, diags := syntax.Parse(merged, name); diags.HasErrors() {
		return nil, nil, jobspec.Diagnostics{{
			Summary: fmt.Sprintf("cannot add to the stubs file %q", name),
			Remedy:  "write meta and attributes of the node as objects, such as meta = { … }, and each brace on a line of its own",
		}}
	}
	return merged, m.added, nil
}

func (m *merger) head() {
	if len(bytes.TrimSpace(m.text)) == 0 {
		fmt.Fprintf(&m.tail, "# What job %q needs from a cluster. Save it as %s beside %s, and replace each TODO(…) with a value.\n",
			deref(cmp.Or(m.File.Job.ID, m.File.Job.Name)), stub.DefaultName, m.Name)
	}
}

func (m *merger) variables() {
	blocks := m.blocksOf("variables", "")
	var lines []string
	for _, u := range m.File.Unset {
		if slices.ContainsFunc(blocks, func(b *hclsyntax.Block) bool { return b.Body.Attributes[u.Name] != nil }) {
			continue
		}
		call := fmt.Sprintf("TODO(%q)", u.Name)
		if v := u.Samples[0]; !(v.Type() == cty.String && !v.IsNull() && v.AsString() == stub.PlaceholderText(u.Name)) {
			call = fmt.Sprintf("TODO(%q, %s)", u.Name, hclwrite.TokensForValue(v).Bytes())
		}
		lines = append(lines, fmt.Sprintf("%s = %s # %s; %s:%d", u.Name, call, oneLine(u.Type), m.Name, u.At.Start.Line))
		m.added = append(m.added, "variable "+u.Name)
	}
	if len(lines) == 0 {
		return
	}
	if len(blocks) > 0 {
		m.insert(blocks[len(blocks)-1], lines)
		return
	}
	fmt.Fprintf(&m.tail, "\nvariables {\n%s\n}\n", strings.Join(lines, "\n"))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// block adds a block, or items to one.
func (m *merger) block(b *block) {
	lines := b.lines()
	if there := m.blocksOf(b.Kind, b.Label); len(there) > 0 {
		if b.Kind != stub.NomadVariable && b.Kind != stub.VaultSecret {
			return
		}
		for _, name := range m.extend(there[0], "# "+strings.Join(b.places, "; "), lines) {
			m.added = append(m.added, fmt.Sprintf("%s in %s %q", name, b.Kind, b.Label))
		}
		return
	}
	header := fmt.Sprintf("%s %s {", b.Kind, quote(b.Label))
	if b.optional && bytes.Contains(m.text, []byte("# "+header)) {
		return
	}
	m.added = append(m.added, fmt.Sprintf("%s %q", b.Kind, b.Label))
	m.tail.WriteByte('\n')
	for _, p := range b.places {
		fmt.Fprintf(&m.tail, "# %s\n", oneLine(p))
	}
	if strings.Contains(b.Label, stub.PlaceholderPrefix) {
		m.tail.WriteString("# The label depends on a placeholder: once that is filled in, run taskrun stubs --merge again.\n")
	}
	for i := range lines {
		lines[i] = "  " + lines[i]
	}
	lines = append(append([]string{header}, lines...), "}")
	if b.optional {
		m.tail.WriteString("# Optional:\n")
	}
	for _, l := range lines {
		if b.optional {
			l = "# " + l
		}
		m.tail.WriteString(l + "\n")
	}
}

func (b *block) lines() (lines []string) {
	todo := func(name, key string) string {
		if sample := b.samples[key]; sample != "" {
			return fmt.Sprintf("TODO(%s, %s)", quote(name), quote(sample))
		}
		return fmt.Sprintf("TODO(%s)", quote(name))
	}
	switch b.Kind {
	case stub.ConsulKey:
		return []string{"value = " + todo(b.Label, "")}
	case stub.ServiceBlock:
		return []string{`address = "127.0.0.1"`, fmt.Sprintf("port = TODO(%s, 1)", quote(b.Label))}
	case stub.VolumeBlock:
		return []string{"path = " + todo(b.Label, "")}
	case stub.ArtifactBlock:
		return b.artifactLines()
	}
	for _, item := range b.items {
		if hclsyntax.ValidIdentifier(item) {
			lines = append(lines, item+" = "+todo(item, item))
		}
	}
	if b.nested {
		return []string{"data = { " + strings.Join(lines, ", ") + " }"}
	}
	return lines
}

// remarks adds what cannot be listed, unless the file says so already.
func (m *merger) remarks() {
	first := true
	for _, c := range m.computed {
		c = oneLine(c)
		_, what, _ := strings.Cut(c, ": ")
		if bytes.Contains(m.text, []byte(what)) {
			continue
		}
		if first {
			m.tail.WriteString("\n# Known only when the task starts:\n")
			first = false
		}
		fmt.Fprintf(&m.tail, "# %s\n", c)
	}
}
