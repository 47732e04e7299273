package decode

import (
	"fmt"
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/evaluate"
)

// expand returns the blocks by type, and replaces every dynamic block by the
// blocks that it generates. A nil schema allows blocks of any type.
func (d *Decoder) expand(blocks []block, ctx *hcl.EvalContext, s *schema) map[string][]instance {
	found := make(map[string][]instance, len(blocks))
	for _, b := range blocks {
		if !d.isDynamic(b) {
			found[b.name] = append(found[b.name], instance{b, ctx})
			continue
		}
		generated, ok := d.generate(b, ctx, s)
		d.Incomplete = d.Incomplete || !ok
		for _, in := range generated {
			found[in.name] = append(found[in.name], in)
		}
	}
	return found
}

// generate returns the blocks that a dynamic block generates, as far as they
// are known. ok is true if they are complete.
//
// See
// https://developer.hashicorp.com/nomad/docs/reference/hcl2/expressions#dynamic-blocks.
func (d *Decoder) generate(b block, ctx *hcl.EvalContext, s *schema) (out []instance, ok bool) {
	if !d.labelsFit(instance{block: b}, 1) {
		return nil, false
	}
	name := b.labels[0]
	wanted := -1 // any number of labels
	if s != nil {
		f := s.blockTypes[name.text]
		if f == nil {
			d.report(d.unknownBlock(block{name: name.text, at: name.at}, "this block", s))
			return nil, false
		}
		wanted = d.labels(f)
	}
	g := d.generator(b, name.text, wanted)
	if g == nil {
		return nil, false
	}
	concealed := d.Scope.Conceals(g.forEach, ctx)
	each, ok := d.evaluate(g.forEach, ctx)
	if !ok {
		return nil, false
	}
	if each.IsNull() || !each.CanIterateElements() {
		d.report(diagnostic.Error(g.forEach.Range(), "for_each must be a list, a set, a map or an object", "it is "+diagnostic.Describe(each), ""))
		return nil, false
	}

	for it := each.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if each.Type().IsSetType() {
			key = value
		}
		if diags := d.Scope.SpendBlock(b.header); diags.HasErrors() {
			d.report(diags...)
			return out, false
		}
		child := ctx.NewChild()
		child.Variables = map[string]cty.Value{
			g.iterator: cty.ObjectVal(map[string]cty.Value{"key": key, "value": value}),
		}
		if concealed {
			d.Scope.ConcealIn(child, g.iterator)
		}
		generated := g.content
		generated.name, generated.at, generated.header = name.text, name.at, b.header
		if generated.labels, ok = d.generatedLabels(g, child); !ok {
			return out, false // the others would fail in the same way
		}
		out = append(out, instance{generated, child})
	}
	return out, true
}

// A generator is the body of a dynamic block.
type generator struct {
	forEach  hclsyntax.Expression
	iterator string
	labels   hclsyntax.Expression // nil if there are none
	content  block
}

// dynamicSchema is for bodies in JSON syntax.
func dynamicSchema() *hcl.BodySchema {
	return &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "for_each"}, {Name: "iterator"}, {Name: "labels"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "content"}},
	}
}

// generator reads the body of a dynamic block for blocks named name, which need
// labels if wanted is above zero. It returns nil after an error.
func (d *Decoder) generator(b block, name string, wanted int) *generator {
	before := d.errors
	var c content
	if native, ok := b.body.(*hclsyntax.Body); ok {
		c = contentOfNative(native)
	} else {
		c = d.contentOfJSON(b.body, dynamicSchema())
	}
	g := &generator{iterator: name}
	for _, a := range c.attributes {
		expr, ok := d.native(a.Expr)
		if !ok {
			continue
		}
		switch a.Name {
		case "for_each":
			g.forEach = expr
		case "iterator":
			if g.iterator, _ = evaluate.Literal(expr); !hclsyntax.ValidIdentifier(g.iterator) {
				d.report(diagnostic.Error(expr.Range(), "the iterator of a dynamic block must be a bare name", "", ""))
			}
		case "labels":
			g.labels = expr
		default:
			d.report(unknownName("attribute", a.Name, a.NameRange, "a dynamic block", []string{"for_each", "iterator", "labels"}))
		}
	}
	contents := 0
	for _, inner := range c.blocks {
		if inner.name != "content" {
			d.report(unknownName("block", inner.name, inner.at, "a dynamic block", []string{"content"}))
			continue
		}
		if contents++; contents > 1 {
			d.report(duplicateBlock(instance{block: inner}, g.content.header))
			continue
		}
		d.labelsFit(instance{block: inner}, 0)
		g.content = inner
	}
	if !c.has("for_each") {
		d.report(missingAttribute("for_each", "this dynamic block", c.missing))
	}
	if contents == 0 {
		d.report(diagnostic.Error(c.missing, "this dynamic block has no content block",
			fmt.Sprintf("it is the body of every %s that is generated", name), "add content { … }"))
	}
	if wanted > 0 && !c.has("labels") {
		d.report(missingAttribute("labels", "this dynamic block", c.missing))
	}
	if d.errors > before {
		return nil
	}
	return g
}

func (d *Decoder) generatedLabels(g *generator, ctx *hcl.EvalContext) ([]label, bool) {
	if g.labels == nil {
		return nil, true
	}
	v, ok := d.evaluate(g.labels, ctx)
	if !ok {
		return nil, false
	}
	var texts []string
	if m := assign(reflect.ValueOf(&texts).Elem(), v); m != nil {
		d.report(m.diagnose("labels", g.labels))
		return nil, false
	}
	labels := make([]label, len(texts))
	for i, text := range texts {
		labels[i] = label{text, g.labels.Range()}
	}
	return labels, true
}
