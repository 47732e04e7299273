package decode

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"taskrun/jobspec/evaluate"
)

// expand returns the blocks by type, with every dynamic block replaced by what
// it generates. A schema of nil allows blocks of any type.
func (d *Decoder) expand(blocks []block, ctx *hcl.EvalContext, s *schema) map[string][]instance {
	found := make(map[string][]instance, len(blocks))
	for _, b := range blocks {
		if b.name != "dynamic" {
			found[b.name] = append(found[b.name], instance{b, ctx})
			continue
		}
		for _, in := range d.generate(b, ctx, s) {
			found[in.name] = append(found[in.name], in)
		}
	}
	return found
}

// generate returns the blocks that a dynamic block stands for.
//
// See https://developer.hashicorp.com/nomad/docs/reference/hcl2/expressions/#dynamic-blocks.
func (d *Decoder) generate(b block, ctx *hcl.EvalContext, s *schema) []instance {
	if !d.labelsFit(instance{block: b}, 1) {
		return nil
	}
	name := b.labels[0]
	wanted := -1 // any number of labels
	if s != nil {
		f := s.blockTypes[name.text]
		if f == nil {
			d.report(d.unknownBlock(block{name: name.text, at: name.at}, "this block", s))
			return nil
		}
		wanted = d.labels(f)
	}
	g, ok := d.generator(b, name.text, wanted)
	if !ok {
		return nil
	}
	each, diags := d.Scope.Value(g.forEach, ctx)
	d.report(diags...)
	if diags.HasErrors() || !each.IsKnown() {
		return nil
	}
	if each.IsNull() || !each.CanIterateElements() {
		d.report(cannotIterate(each, g.forEach.Range()))
		return nil
	}

	var out []instance
	for it := each.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if each.Type().IsSetType() {
			key = value
		}
		child := ctx.NewChild()
		child.Variables = map[string]cty.Value{
			g.iterator: cty.ObjectVal(map[string]cty.Value{"key": key, "value": value}),
		}
		if diags := d.Scope.SpendBlock(b.header); diags.HasErrors() {
			d.report(diags...)
			return nil
		}
		generated := g.content
		generated.name, generated.at, generated.header = name.text, name.at, b.header
		if generated.labels, ok = d.generatedLabels(g, child); ok {
			out = append(out, instance{generated, child})
		}
	}
	return out
}

// A generator is the body of a dynamic block.
type generator struct {
	forEach  hclsyntax.Expression
	iterator string
	labels   hclsyntax.Expression // nil without
	wanted   int                  // number of labels, -1 for any
	content  block
}

// dynamicSchema is for bodies in JSON syntax.
func dynamicSchema() *hcl.BodySchema {
	return &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "for_each"}, {Name: "iterator"}, {Name: "labels"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "content"}},
	}
}

func (d *Decoder) generator(b block, name string, wanted int) (generator, bool) {
	var c content
	if native, ok := b.body.(*hclsyntax.Body); ok {
		c = contentOfNative(native)
	} else {
		c = d.contentOfJSON(b.body, dynamicSchema())
	}
	g, ok := generator{iterator: name, wanted: wanted}, true
	fail := func(diag *hcl.Diagnostic) {
		d.report(diag)
		ok = false
	}
	for _, a := range c.attributes {
		switch a.name {
		case "for_each":
			g.forEach = a.expr
		case "iterator":
			if g.iterator, _ = evaluate.Literal(a.expr); !hclsyntax.ValidIdentifier(g.iterator) {
				fail(fault(a.expr.Range(), "the iterator of a dynamic block must be a bare name", "", ""))
			}
		case "labels":
			g.labels = a.expr
		default:
			fail(unknownName("attribute", a.name, a.at, "a dynamic block", []string{"for_each", "iterator", "labels"}))
		}
	}
	contents := 0
	for _, inner := range c.blocks {
		if inner.name != "content" {
			fail(unknownName("block", inner.name, inner.at, "a dynamic block", []string{"content"}))
			continue
		}
		if contents++; contents > 1 {
			fail(duplicateBlock(instance{block: inner}, g.content.header))
			continue
		}
		g.content = inner
	}
	if g.forEach == nil {
		fail(missingAttribute("for_each", c.missing, b.header))
	}
	if contents == 0 {
		fail(fault(b.header, "this dynamic block has no content block", fmt.Sprintf("The content block is the body of each %q block that is generated.", name), ""))
	}
	if wanted > 0 && g.labels == nil {
		fail(missingAttribute("labels", c.missing, b.header))
	}
	return g, ok
}

func (d *Decoder) generatedLabels(g generator, ctx *hcl.EvalContext) ([]label, bool) {
	if g.labels == nil {
		return nil, true
	}
	v, diags := d.Scope.Value(g.labels, ctx)
	d.report(diags...)
	if diags.HasErrors() || !v.IsWhollyKnown() {
		return nil, false
	}
	v, err := convert.Convert(v, cty.List(cty.String))
	if err != nil || v.IsNull() {
		d.report(fault(g.labels.Range(), "the labels of a dynamic block must be a list of strings", "", `write labels = ["name"]`))
		return nil, false
	}
	var labels []label
	for _, text := range v.AsValueSlice() {
		if text.IsNull() {
			d.report(fault(g.labels.Range(), "a label must not be null", "", ""))
			return nil, false
		}
		labels = append(labels, label{text.AsString(), g.labels.Range()})
	}
	return labels, true
}
