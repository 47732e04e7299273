package decode

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"taskrun/jobspec/diagnostic"
)

// content reads a body, and reports everything that is not in the schema.
func (d *Decoder) content(in instance, s *schema) content {
	native, ok := in.body.(*hclsyntax.Body)
	if !ok {
		return d.contentOfJSON(in.body, d.forJSON(s))
	}
	c := contentOfNative(native)
	known := c.attributes[:0]
	for _, a := range c.attributes {
		if s.attributes[a.Name] == nil {
			d.report(d.unknownAttribute(a, in.name, s))
			d.Incomplete = d.Incomplete || s.blockTypes[a.Name] != nil
			meant := d.meant(a.Name, s)
			if s.attributes[meant] == nil || native.Attributes[meant] != nil {
				continue
			}
			a.Name = meant
		}
		known = append(known, a)
	}
	c.attributes = known
	for i, b := range c.blocks {
		if !d.isDynamic(b) && s.blockTypes[b.name] == nil {
			d.report(d.unknownBlock(b, in.name, s))
			c.blocks[i].name = d.meant(b.name, s)
		}
	}
	return c
}

// meant returns the name that a misspelled one probably means, so that the rest
// can be checked. Otherwise it returns the name itself.
func (d *Decoder) meant(name string, s *schema) string {
	if d.tolerant > 0 { // the block then has no effect
		return name
	}
	return cmp.Or(diagnostic.Nearest(name, s.names()), name)
}

func contentOfNative(body *hclsyntax.Body) content {
	c := content{
		attributes: make([]*hcl.Attribute, 0, len(body.Attributes)),
		blocks:     make([]block, 0, len(body.Blocks)),
		missing:    body.MissingItemRange(),
	}
	for _, a := range body.Attributes {
		c.attributes = append(c.attributes, a.AsHCLAttribute())
	}
	slices.SortFunc(c.attributes, byPlace)
	for _, b := range body.Blocks {
		converted := block{name: b.Type, at: b.TypeRange, header: b.DefRange(), open: b.OpenBraceRange, body: b.Body}
		for i, text := range b.Labels {
			converted.labels = append(converted.labels, label{text, b.LabelRanges[i]})
		}
		c.blocks = append(c.blocks, converted)
	}
	return c
}

// contentOfJSON reads a body in JSON syntax, whose parser reports unknown
// names itself.
func (d *Decoder) contentOfJSON(body hcl.Body, s *hcl.BodySchema) content {
	found, diags := body.Content(s)
	d.report(diags...)
	d.Incomplete = d.Incomplete || diags.HasErrors()
	c := content{
		attributes: InOrder(found.Attributes),
		missing:    found.MissingItemRange,
	}
	for _, b := range found.Blocks {
		converted := block{name: b.Type, at: b.TypeRange, header: b.TypeRange, open: b.DefRange, body: b.Body}
		for i, text := range b.Labels {
			converted.labels = append(converted.labels, label{text, b.LabelRanges[i]})
			converted.header = b.LabelRanges[i]
		}
		c.blocks = append(c.blocks, converted)
	}
	return c
}

// anything reads a body without a schema.
func (d *Decoder) anything(body hcl.Body) content {
	if native, ok := body.(*hclsyntax.Body); ok {
		return contentOfNative(native)
	}
	found, diags := body.JustAttributes()
	d.report(diags...)
	return content{attributes: InOrder(found), missing: body.MissingItemRange()}
}

// labelsFit reports whether a block has the right number of labels.
func (d *Decoder) labelsFit(in instance, want int) bool {
	switch got := len(in.labels); {
	case got < want:
		d.report(diagnostic.Error(in.open, fmt.Sprintf("this %s has no name", in.name), "", fmt.Sprintf(`write %s "name" {`, in.name)))
	case got > want:
		d.report(diagnostic.Error(in.labels[want].at, fmt.Sprintf("%q is not expected after %s", in.labels[want].text, in.name),
			fmt.Sprintf("a %s block has %s name", in.name, [...]string{"no", "one"}[want]), "delete it"))
	default:
		return true
	}
	d.Incomplete = true
	return false
}

// InOrder returns attributes in the order of the source.
func InOrder(attributes hcl.Attributes) []*hcl.Attribute {
	return slices.SortedFunc(maps.Values(attributes), byPlace)
}

func byPlace(a, b *hcl.Attribute) int {
	return cmp.Compare(a.NameRange.Start.Byte, b.NameRange.Start.Byte)
}
