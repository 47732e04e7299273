package jobspec

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/syntax"
)

// positionsOfJSON finds the positions of a job in the API's JSON, by walking
// through the text and the decoded job in parallel. The text must be valid; it
// has offset bytes before the JSON.
func positionsOfJSON(src Source, offset int, job *api.Job) (positions Positions, nulls []Range) {
	w := &jsonWalk{
		src:       src,
		offset:    offset,
		decoder:   json.NewDecoder(bytes.NewReader(src.Text[offset:])),
		last:      Range{File: src.Name, End: Pos{Line: 1, Column: 1}},
		positions: Positions{},
	}
	w.decoder.UseNumber()
	w.outermost(reflect.ValueOf(job))
	return w.positions, w.nulls
}

// A jsonWalk is a walk through a JSON text.
type jsonWalk struct {
	src       Source
	offset    int
	decoder   *json.Decoder
	last      Range // of the last token
	positions Positions
	nulls     []Range // null blocks in a list or a map, which code that works with jobs does not expect
}

// token reads the next token and returns it with its range.
func (w *jsonWalk) token() (json.Token, Range) {
	before := int(w.decoder.InputOffset())
	token, err := w.decoder.Token()
	if err != nil {
		return nil, Range{}
	}
	after := w.offset + int(w.decoder.InputOffset())
	from := w.offset + before
	for from < after && strings.IndexByte(" \t\r\n,:", w.src.Text[from]) >= 0 {
		from++
	}
	w.last.Start = syntax.Move(w.last.End, w.src.Text, from)
	w.last.End = syntax.Move(w.last.Start, w.src.Text, after)
	return token, w.last
}

// outermost walks through the object around the job, or the job itself.
func (w *jsonWalk) outermost(job reflect.Value) {
	_, at := w.token()
	w.positions[Root] = at
	for w.decoder.More() {
		key, at := w.token()
		if name, _ := key.(string); strings.EqualFold(name, "Job") {
			w.positions[Root] = at
			w.value(job, Root)
			continue
		}
		w.member(key, at, job.Elem(), Root)
	}
}

// value walks through a value and returns its range. The range of null is zero:
// null means the same as an omitted member.
func (w *jsonWalk) value(v reflect.Value, path Path) Range {
	token, at := w.token()
	if token == nil {
		return Range{}
	}
	delim, isDelim := token.(json.Delim)
	if !isDelim {
		return at
	}
	v = inner(v)
	for i := 0; w.decoder.More(); i++ {
		if delim == '[' {
			w.element(v, i, path)
			continue
		}
		key, keyAt := w.token()
		w.member(key, keyAt, v, path)
	}
	_, end := w.token()
	at.End = end.End
	return at
}

// member walks through a member of an object whose key has been read.
func (w *jsonWalk) member(key json.Token, at Range, object reflect.Value, path Path) {
	name, _ := key.(string)
	var v reflect.Value
	switch object.Kind() {
	case reflect.Struct:
		name, v = fieldOf(object, name)
	case reflect.Map:
		if v = object.MapIndex(reflect.ValueOf(name)); v.IsValid() && inner(v).Kind() == reflect.Struct {
			path = path.Parent().Label(path.Name(), name)
			w.positions[path] = at
			w.value(v, path)
			return
		}
		if v.Kind() == reflect.Pointer {
			w.value(v, path)
			w.nulls = append(w.nulls, w.last)
			return
		}
	}
	path = path.Attr(name)
	valueAt := w.value(v, path)
	if inner(v).Kind() != reflect.Struct {
		at = valueAt
	}
	if !valueAt.IsZero() {
		w.positions[path] = at
	}
}

// element walks through an element of an array. A list of blocks has the path
// of its kind, and each element an index.
func (w *jsonWalk) element(list reflect.Value, i int, path Path) {
	var v reflect.Value
	if list.Kind() == reflect.Slice && i < list.Len() {
		v = list.Index(i)
	}
	parent, kind := path.Parent(), path.Name()
	path = parent.Index(kind, i)
	if port, ok := inner(v).Interface().(api.Port); ok {
		path = parent.Label("port", port.Label)
	}
	if at := w.value(v, path); !at.IsZero() {
		w.positions[path] = at
	} else if v.Kind() == reflect.Pointer {
		w.nulls = append(w.nulls, w.last)
	}
}

// inner dereferences pointers and interfaces. For nil it returns an empty
// struct.
func inner(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return reflect.ValueOf(false)
	}
	return v
}

// fieldOf returns the field in which encoding/json stores a member, and its
// name in a job file.
func fieldOf(object reflect.Value, name string) (string, reflect.Value) {
	t := object.Type()
	for i := range t.NumField() {
		sf := t.Field(i)
		if !strings.EqualFold(sf.Name, name) {
			continue
		}
		hclName, _, _ := strings.Cut(sf.Tag.Get("hcl"), ",")
		if hclName == "" {
			hclName = strings.ToLower(sf.Name)
		}
		return hclName, object.Field(i)
	}
	return name, reflect.Value{}
}
