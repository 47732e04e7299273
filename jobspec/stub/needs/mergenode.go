package needs

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/stub"
)

func (m *merger) nodeBlock() {
	sections := map[string][]string{}
	blocks := m.blocksOf(stub.NodeBlock, "")
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
