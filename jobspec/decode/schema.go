package decode

import (
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// of returns the field in a struct with the schema.
func (f *field) of(target reflect.Value) reflect.Value { return target.FieldByIndex(f.index) }

func (d *Decoder) schema(t reflect.Type) *schema {
	s, ok := d.schemas[t]
	if !ok {
		s = &schema{attributes: map[string]*field{}, blockTypes: map[string]*field{}}
		s.read(t, nil)
		d.schemas[t] = s
	}
	return s
}

// read adds the fields of t. Those of embedded structs come last, so that an
// outer field hides an inner one with the same name.
func (s *schema) read(t reflect.Type, index []int) {
	var embedded []reflect.StructField
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.Anonymous {
			embedded = append(embedded, sf)
			continue
		}
		if tag, ok := sf.Tag.Lookup("hcl"); ok {
			s.add(sf, tag, append(slices.Clip(index), i))
		}
	}
	for _, sf := range embedded {
		inner := sf.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		s.read(inner, append(slices.Clip(index), sf.Index...))
	}
}

func (s *schema) add(sf reflect.StructField, tag string, index []int) {
	name, form, _ := strings.Cut(tag, ",")
	if s.attributes[name] != nil || s.blockTypes[name] != nil {
		return
	}
	f := &field{name: name, index: index, typ: sf.Type}
	switch form {
	case "label":
		if s.label == nil {
			s.label = f
		}
	case "body":
		s.body = f
	case "block":
		s.addBlock(f)
	case "either":
		s.addBlock(f)
		s.attributes[name] = f
	case "optional":
		s.attributes[name] = f
	default:
		s.attributes[name] = f
		if sf.Type.Kind() != reflect.Pointer {
			s.required = append(s.required, f)
		}
	}
}

func (s *schema) addBlock(f *field) {
	f.block = kindOf(f.typ)
	s.blockTypes[f.name] = f
	s.order = append(s.order, f)
}

func kindOf(t reflect.Type) kind {
	switch {
	case t.Kind() == reflect.Slice:
		return many
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Interface:
		return freeForm
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Pointer:
		return keyed
	case t.Kind() == reflect.Map:
		return plain
	default:
		return single
	}
}

// element returns the struct type of one block of f, or nil for the map kinds.
func (f *field) element() reflect.Type {
	t := f.typ
	switch f.block {
	case plain, freeForm:
		return nil
	case many, keyed:
		t = t.Elem()
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// labels returns how many labels a block of f has: 0 or 1.
func (d *Decoder) labels(f *field) int {
	if t := f.element(); t != nil && d.schema(t).label != nil {
		return 1
	}
	return 0
}

// forJSON returns the schema in the form that distinguishes attributes from
// blocks in JSON syntax.
func (d *Decoder) forJSON(s *schema) *hcl.BodySchema {
	if s.json != nil {
		return s.json
	}
	s.json = &hcl.BodySchema{}
	if !d.Static {
		s.json.Blocks = append(s.json.Blocks, hcl.BlockHeaderSchema{Type: "dynamic", LabelNames: []string{"type"}})
	}
	for name := range s.attributes {
		s.json.Attributes = append(s.json.Attributes, hcl.AttributeSchema{Name: name})
	}
	for _, f := range s.order {
		if s.attributes[f.name] != nil {
			continue // in JSON the two forms look alike
		}
		header := hcl.BlockHeaderSchema{Type: f.name}
		if d.labels(f) == 1 {
			header.LabelNames = []string{"name"}
		}
		s.json.Blocks = append(s.json.Blocks, header)
	}
	return s.json
}
