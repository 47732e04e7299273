package stub

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec"
	"taskrun/jobspec/syntax"
)

// Merge adds to the text of a stubs file everything that a job file needs from a
// cluster and the text does not have, to be filled in. What it has stays as it
// is. Merge returns the new text and a line for each addition; name is that of
// the stubs file. The services of the job itself are omitted.
func Merge(text []byte, name string, o Outline) (merged []byte, added []string, diagnostics jobspec.Diagnostics) {
	m := &merger{text: text, needs: needsOf(&o)}
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
	m.nodeBlock()
	m.remarks()
	merged = m.apply()
	if _, diags := syntax.Parse(merged, name); diags.HasErrors() {
		return nil, nil, jobspec.Diagnostics{{
			Summary: fmt.Sprintf("cannot add to the stubs file %q", name),
			Remedy:  "put each brace of the node block on a line of its own",
		}}
	}
	return merged, m.added, nil
}

// merger collects additions to a stubs file.
type merger struct {
	*needs

	text  []byte
	body  *hclsyntax.Body
	edits []edit
	tail  bytes.Buffer // new blocks
	added []string
}

// edit replaces a part of the text.
type edit struct {
	from, to int
	with     string
}

// head explains a new file.
func (m *merger) head() {
	if len(bytes.TrimSpace(m.text)) == 0 {
		fmt.Fprintf(&m.tail, "# What job %q needs of a cluster. Save it as %s beside %s, and replace each TODO(…) with a value.\n",
			deref(cmp.Or(m.File.Job.ID, m.File.Job.Name)), DefaultName, m.Name)
	}
}

// blocksOf returns the blocks of a kind, with a label if it is not empty.
func (m *merger) blocksOf(kind, label string) (found []*hclsyntax.Block) {
	for _, b := range m.body.Blocks {
		if b.Type != kind {
			continue
		}
		if label == "" || len(b.Labels) > 0 && (Todo{Need: Need{kind, normalLabel(kind, b.Labels[0])}}).fits(label, false) {
			found = append(found, b)
		}
	}
	return found
}

func (m *merger) variables() {
	blocks := m.blocksOf("variables", "")
	var lines []string
	for _, u := range m.File.Unset {
		if slices.ContainsFunc(blocks, func(b *hclsyntax.Block) bool { return b.Body.Attributes[u.Name] != nil }) {
			continue
		}
		call := fmt.Sprintf("TODO(%q)", u.Name)
		if v := u.Samples[0]; !(v.Type() == cty.String && !v.IsNull() && v.AsString() == PlaceholderText(u.Name)) {
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
		if b.Kind != NomadVariable && b.Kind != VaultSecret {
			return
		}
		lines = slices.DeleteFunc(lines, func(l string) bool {
			name, _, _ := strings.Cut(l, " ")
			return there[0].Body.Attributes[name] != nil
		})
		if len(lines) > 0 {
			m.insert(there[0], append([]string{"# " + strings.Join(b.places, "; ")}, lines...))
			for _, l := range lines {
				name, _, _ := strings.Cut(l, " ")
				m.added = append(m.added, fmt.Sprintf("%s in %s %q", name, b.Kind, b.Label))
			}
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
	if strings.Contains(b.Label, placeholderPrefix) {
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

// lines returns the content of a block.
func (b *block) lines() (lines []string) {
	todo := func(name, key string) string {
		if sample := b.samples[key]; sample != "" {
			return fmt.Sprintf("TODO(%s, %s)", quote(name), quote(sample))
		}
		return fmt.Sprintf("TODO(%s)", quote(name))
	}
	switch b.Kind {
	case ConsulKey:
		return []string{"value = " + todo(b.Label, "")}
	case ServiceBlock:
		return []string{`address = "127.0.0.1"`, fmt.Sprintf("port = TODO(%s, 1)", quote(b.Label))}
	case VolumeBlock:
		return []string{"path = " + todo(b.Label, "")}
	}
	for _, item := range b.items {
		if hclsyntax.ValidIdentifier(item) {
			lines = append(lines, item+" = "+todo(item, item))
		}
	}
	return lines
}

// quote returns a text as a string of HCL.
func quote(text string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes())
}

// nodeBlock adds values of the node.
func (m *merger) nodeBlock() {
	sections := map[string][]string{}
	blocks := m.blocksOf(NodeBlock, "")
	for _, v := range m.node {
		section, name := "", strings.TrimPrefix(v.name, "node.")
		if key, ok := strings.CutPrefix(v.name, "meta."); ok {
			section, name = "meta", key
		} else if key, ok := strings.CutPrefix(v.name, "attr."); ok {
			section, name = "attributes", key
		}
		if section == "" {
			name = strings.TrimPrefix(name, "unique.")
			if !slices.Contains([]string{"name", "class", "pool", "datacenter"}, name) {
				continue
			}
		}
		if m.nodeHas(blocks, section, name) {
			continue
		}
		if section != "" {
			name = quote(name)
		}
		line := fmt.Sprintf("%s = %s # %s", name, v.value, v.place)
		if v.measured && v.has != "" {
			line = fmt.Sprintf("# %s; here it is %s", line, strconv.Quote(v.has))
			if bytes.Contains(m.text, []byte(fmt.Sprintf("# %s = %s #", name, v.value))) {
				continue
			}
		}
		sections[section] = append(sections[section], line)
		m.added = append(m.added, v.name+" of the node")
	}
	if len(sections) == 0 {
		return
	}
	if len(blocks) == 0 {
		m.tail.WriteString("\nnode {\n" + strings.Join(nodeLines(sections), "\n") + "\n}\n")
		return
	}
	for _, section := range []string{"meta", "attributes"} {
		lines := sections[section]
		if a := blocks[0].Body.Attributes[section]; a != nil && len(lines) > 0 {
			if object, ok := a.Expr.(*hclsyntax.ObjectConsExpr); ok {
				m.insertAt(object.SrcRange.Start.Byte+1, object.SrcRange.End.Byte-1, lines)
			}
			delete(sections, section)
		}
		for _, b := range blocks[0].Body.Blocks {
			if b.Type == section && len(lines) > 0 {
				m.insert(b, unquoted(lines))
				delete(sections, section)
			}
		}
	}
	if lines := nodeLines(sections); len(lines) > 0 {
		m.insert(blocks[0], lines)
	}
}

// unquoted returns lines for a block in place of an object.
func unquoted(lines []string) (list []string) {
	for _, l := range lines {
		name, rest, _ := strings.Cut(l, " = ")
		if key, err := strconv.Unquote(name); err == nil && hclsyntax.ValidIdentifier(key) {
			name = key
		}
		list = append(list, name+" = "+rest)
	}
	return list
}

func nodeLines(sections map[string][]string) []string {
	lines := slices.Clone(sections[""])
	for _, section := range []string{"meta", "attributes"} {
		if len(sections[section]) > 0 {
			lines = append(append(append(lines, section+" = {"), sections[section]...), "}")
		}
	}
	return lines
}

// nodeHas reports whether the node block has a value.
func (m *merger) nodeHas(blocks []*hclsyntax.Block, section, name string) bool {
	if len(blocks) == 0 {
		return false
	}
	if section == "" {
		return blocks[0].Body.Attributes[name] != nil
	}
	if a := blocks[0].Body.Attributes[section]; a != nil {
		object, ok := a.Expr.(*hclsyntax.ObjectConsExpr)
		return !ok || slices.ContainsFunc(object.Items, func(i hclsyntax.ObjectConsItem) bool {
			key, diags := i.KeyExpr.Value(nil)
			return !diags.HasErrors() && key.Type() == cty.String && key.IsKnown() && !key.IsNull() && key.AsString() == name
		})
	}
	return slices.ContainsFunc(blocks[0].Body.Blocks, func(b *hclsyntax.Block) bool {
		return b.Type == section && b.Body.Attributes[name] != nil
	})
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

// insert adds lines at the end of a block.
func (m *merger) insert(b *hclsyntax.Block, lines []string) {
	m.insertAt(b.OpenBraceRange.End.Byte, b.CloseBraceRange.Start.Byte, lines)
}

// insertAt adds lines at the end of what is between two braces.
func (m *merger) insertAt(from, to int, lines []string) {
	inner := m.text[from:to]
	before := m.text[:from]
	outer := before[bytes.LastIndexByte(before, '\n')+1:]
	indent := string(outer[:len(outer)-len(bytes.TrimLeft(outer, " \t"))])
	added := ""
	for l := range strings.SplitSeq(string(hclwrite.Format([]byte(strings.Join(lines, "\n")))), "\n") {
		added += indent + "  " + l + "\n"
	}
	if end := bytes.LastIndexByte(inner, '\n'); end >= 0 && len(bytes.TrimSpace(inner[end:])) == 0 {
		m.edits = append(m.edits, edit{from + end + 1, from + end + 1, added})
		return
	}
	if rest := bytes.TrimSpace(inner); len(rest) > 0 {
		added = indent + "  " + string(rest) + "\n" + added
	}
	m.edits = append(m.edits, edit{from, to, "\n" + added + indent})
}

// apply returns the text with all additions.
func (m *merger) apply() []byte {
	slices.SortStableFunc(m.edits, func(a, b edit) int { return b.from - a.from })
	text := slices.Clone(m.text)
	for _, e := range m.edits {
		text = slices.Replace(text, e.from, e.to, []byte(e.with)...)
	}
	tail := m.tail.Bytes()
	if formatted, diagnostics := jobspec.Format(jobspec.Source{Name: DefaultName, Text: tail}); !diagnostics.HasErrors() {
		tail = formatted
	}
	switch {
	case len(tail) == 0:
		return text
	case len(bytes.TrimSpace(text)) == 0:
		return tail
	case !bytes.HasSuffix(text, []byte("\n")):
		text = append(text, '\n')
	}
	return append(append(text, '\n'), bytes.TrimLeft(tail, "\n")...)
}
