package decode

import (
	"fmt"
	"reflect"

	"github.com/hashicorp/hcl/v2"

	"taskrun/jobspec/diagnostic"
)

// Decode fills target, a pointer to a struct, from the body of a block named
// name. It returns all errors and stores all valid values.
func (d *Decoder) Decode(name string, header hcl.Range, body hcl.Body, target any, place Place) hcl.Diagnostics {
	d.diags = nil
	if d.schemas == nil {
		d.schemas = map[reflect.Type]*schema{}
	}
	outermost := instance{block: block{name: name, header: header, body: body}, ctx: d.Scope.Root()}
	d.body(outermost, reflect.ValueOf(target).Elem(), place)
	return d.diags
}

// body fills the struct target, or its form, from a block.
func (d *Decoder) body(in instance, target reflect.Value, place Place) {
	if d.Form != nil {
		if form := d.Form(target.Addr().Interface()); form != nil {
			target = reflect.ValueOf(form).Elem()
		}
	}
	if _, ok := target.Addr().Interface().(Tolerant); ok {
		d.tolerant++
		defer d.tolerate(len(d.diags))
	}
	s := d.schema(target.Type())
	var attributes []*hcl.Attribute
	if s.body != nil {
		s.body.of(target).Set(reflect.ValueOf(in.body))
	} else {
		attributes = d.fields(in, s, target, place)
	}
	if f, ok := target.Addr().Interface().(Finisher); ok {
		b := Block{Header: in.header, Label: in.header, attributes: attributes}
		if len(in.labels) > 0 {
			b.Label = in.labels[0].at
		}
		before := d.errors
		if d.report(f.Finish(b)...); d.errors > before {
			place.Lost("")
		}
	}
}

// fields stores the attributes and blocks of a body, and returns the
// attributes.
func (d *Decoder) fields(in instance, s *schema, target reflect.Value, place Place) []*hcl.Attribute {
	c := d.content(in, s)
	for _, b := range c.blocks {
		if s.blockTypes[b.name] == nil && !d.isDynamic(b) {
			place.Lost("") // its correct name or place is missing
		}
	}
	for _, a := range c.attributes {
		if f := s.attributes[a.Name]; f != nil {
			place.Attr(a.Name, a.Expr.Range())
			if !d.attribute(a, f.of(target), in.ctx, place) {
				place.Lost(a.Name)
			}
		}
	}
	for _, f := range s.required {
		if !c.has(f.name) {
			d.report(missingAttribute(f.name, in.name, c.missing))
			place.Lost(f.name)
		}
	}
	if len(c.blocks) > 0 {
		found := d.expand(c.blocks, in.ctx, s)
		for _, f := range s.order {
			if blocks := found[f.name]; len(blocks) > 0 {
				d.blocks(blocks, f, f.of(target), c, place)
			}
		}
	}
	return c.attributes
}

// tolerate turns the errors found since the n-th diagnostic into warnings.
func (d *Decoder) tolerate(n int) {
	d.tolerant--
	for _, diag := range d.diags[n:] {
		diag.Severity = hcl.DiagWarning
	}
}

// blocks stores blocks of one type, at least one, in the field of their parent;
// c is the content that contains them.
func (d *Decoder) blocks(found []instance, f *field, target reflect.Value, c content, place Place) {
	switch f.block {
	case many:
		d.many(found, f, target, place)
	case keyed:
		d.keyed(found, f, target, place)
	default:
		for _, extra := range found[1:] {
			d.report(duplicateBlock(extra, found[0].header))
		}
		for _, a := range c.attributes {
			if a.Name == f.name {
				d.report(duplicateBlock(found[0], a.NameRange))
				return
			}
		}
		d.one(found[0], f, target, place.Block(f.name, found[0].header))
	}
}

// one stores a block that may occur only once.
func (d *Decoder) one(in instance, f *field, target reflect.Value, place Place) {
	d.labelsFit(in, d.labels(f))
	switch f.block {
	case plain:
		d.plain(in, target, place)
	case freeForm:
		target.Set(reflect.ValueOf(d.freeForm(in, place, true)))
	default:
		v := reflect.New(f.element())
		target.Set(v)
		d.setLabel(in, v.Elem())
		d.body(in, v.Elem(), place)
	}
}

func (d *Decoder) many(found []instance, f *field, target reflect.Value, place Place) {
	t := f.element()
	want := d.labels(f)
	// Elements may be structs, not pointers, so the slice must not be
	// reallocated while they are filled.
	slice := reflect.MakeSlice(f.typ, 0, len(found))
	for _, in := range found {
		if !d.labelsFit(in, want) {
			continue
		}
		i := slice.Len()
		if f.typ.Elem().Kind() == reflect.Pointer {
			slice = reflect.Append(slice, reflect.New(t))
		} else {
			slice = reflect.Append(slice, reflect.Zero(t))
		}
		v := reflect.Indirect(slice.Index(i))
		name := d.setLabel(in, v)
		d.body(in, v, place.Item(f.name, i, name, in.header))
	}
	if slice.Len() > 0 {
		target.Set(slice)
	}
}

func (d *Decoder) keyed(found []instance, f *field, target reflect.Value, place Place) {
	target.Set(reflect.MakeMap(f.typ))
	first := map[string]hcl.Range{}
	for _, in := range found {
		if !d.labelsFit(in, 1) {
			continue
		}
		v := reflect.New(f.element())
		name := d.setLabel(in, v.Elem())
		if at, ok := first[name]; ok {
			d.report(diagnostic.Warning(in.header, fmt.Sprintf("%s %q is given twice", in.name, name),
				fmt.Sprintf("this one takes the place of the one on line %d", at.Start.Line), "rename one of them, or delete it"))
		}
		first[name] = in.header
		d.body(in, v.Elem(), place.Keyed(f.name, name, in.header))
		target.SetMapIndex(reflect.ValueOf(name), v)
	}
}

// plain stores a block with arbitrary attributes in a map of strings or of
// lists of strings.
func (d *Decoder) plain(in instance, target reflect.Value, place Place) {
	t := target.Type()
	target.Set(reflect.MakeMap(t))
	c := d.anything(in.body)
	for _, a := range c.attributes {
		place.Attr(a.Name, a.Expr.Range())
		v := reflect.New(t.Elem()).Elem()
		expr, ok := d.native(a.Expr)
		if !ok || !d.value(a.Name, expr, v, in.ctx) {
			place.Lost(a.Name)
			continue
		}
		target.SetMapIndex(reflect.ValueOf(a.Name), v)
	}
	for _, b := range c.blocks {
		d.report(diagnostic.Error(b.header, fmt.Sprintf("unknown block %q in %s", b.name, in.name), fmt.Sprintf("%s holds attributes only", in.name), ""))
	}
}

// setLabel stores the label of a block in its struct and returns it.
func (d *Decoder) setLabel(in instance, v reflect.Value) string {
	f := d.schema(v.Type()).label
	if f == nil || len(in.labels) == 0 {
		return ""
	}
	text := in.labels[0].text
	if target := f.of(v); target.Kind() == reflect.Pointer {
		target.Set(reflect.ValueOf(&text))
	} else {
		target.SetString(text)
	}
	return text
}
