package needs

import (
	"bytes"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// merger collects additions to a stubs file.
type merger struct {
	*needs

	text  []byte
	body  *hclsyntax.Body
	edits []edit
	tail  bytes.Buffer // new blocks
	added []string

	extended []*extension
}

type edit struct {
	from, to int
	with     string
}

// extension holds the additions of several needs to one block.
type extension struct {
	block *hclsyntax.Block
	lines []string
}

// extend adds lines to a block, except for attributes that it has, and returns the
// names of the new ones.
func (m *merger) extend(b *hclsyntax.Block, comment string, lines []string) (names []string) {
	i := slices.IndexFunc(m.extended, func(e *extension) bool { return e.block == b })
	e := &extension{block: b}
	if i >= 0 {
		e = m.extended[i]
	}
	var added []string
	for _, l := range lines {
		name, _, _ := strings.Cut(l, " ")
		if b.Body.Attributes[name] == nil && !slices.ContainsFunc(e.lines, func(l string) bool { return strings.HasPrefix(l, name+" ") }) {
			names, added = append(names, name), append(added, l)
		}
	}
	if len(added) == 0 {
		return nil
	}
	if e.lines = slices.Concat(e.lines, []string{comment}, added); i < 0 {
		m.extended = append(m.extended, e)
	}
	return names
}

func (m *merger) insert(b *hclsyntax.Block, lines []string) {
	m.insertAt(b.OpenBraceRange.End.Byte, b.CloseBraceRange.Start.Byte, lines)
}

// insertAt adds lines at the end of the text between two braces, which is from:to.
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
	if formatted, diagnostics := jobspec.Format(jobspec.Source{Name: stub.DefaultName, Text: tail}); !diagnostics.HasErrors() {
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

// blocksOf returns the blocks of a kind, with a label if it is not empty.
func (m *merger) blocksOf(kind, label string) (found []*hclsyntax.Block) {
	for _, b := range m.body.Blocks {
		if b.Type != kind {
			continue
		}
		if label == "" || len(b.Labels) > 0 && stub.NeedOf(kind, b.Labels[0]).Fits(label, false) {
			found = append(found, b)
		}
	}
	return found
}

func quote(text string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes())
}
