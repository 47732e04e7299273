package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"taskrun/jobspec/diagnostic"
)

type file struct {
	path    string
	places  bool // positions in it are known
	values  map[string]value
	plugins []*hcl.Block // in the order of the file
}

// value is the value of a flag in a file.
type value struct {
	texts  []string
	origin string // where it was set
}

// inOrder returns attributes in the order of their file.
func inOrder(attributes hcl.Attributes) []*hcl.Attribute {
	return slices.SortedFunc(maps.Values(attributes), func(a, b *hcl.Attribute) int {
		return cmp.Compare(a.Range.Start.Byte, b.Range.Start.Byte)
	})
}

// Errors of values that no flag accepts.
var (
	errNoValue = errors.New("it has no value")
	errTable   = errors.New(`a table is not understood; write a list such as ["name=value"]`)
)

// texts returns a value as the texts that would be given to its flag.
func texts(val cty.Value) ([]string, error) {
	switch ty := val.Type(); {
	case val.IsNull():
		return nil, errNoValue
	case ty.IsTupleType() || ty.IsListType() || ty.IsSetType():
		var list []string
		for _, item := range val.AsValueSlice() {
			one, err := texts(item)
			if err != nil {
				return nil, err
			}
			list = append(list, one...)
		}
		return list, nil
	case ty.IsObjectType() || ty.IsMapType():
		return nil, errTable
	}
	text, err := convert.Convert(val, cty.String)
	if err != nil {
		return nil, err
	}
	return []string{text.AsString()}, nil
}

// at returns the place of a range in the file: the line or, if that is unknown,
// the key.
func (f *file) at(r hcl.Range, key string) string {
	switch {
	case f.places:
		return fmt.Sprintf("%s:%d", f.path, r.Start.Line)
	case key != "":
		return fmt.Sprintf("%s: key %s", f.path, key)
	}
	return f.path
}

// fault returns the first of several diagnostics as an error about a key.
func (f *file) fault(diags hcl.Diagnostics, key string) error {
	d := first(diags)
	at := f.at(hcl.Range{}, key)
	if d.Subject != nil {
		at = f.at(*d.Subject, key)
	}
	text := d.Summary
	for _, more := range []string{d.Detail, diagnostic.Remedy(d)} {
		if more != "" {
			text += ": " + strings.TrimSuffix(strings.Join(strings.Fields(more), " "), ".")
		}
	}
	return fmt.Errorf("cannot use config file %s: %s", at, text)
}

func first(diags hcl.Diagnostics) *hcl.Diagnostic {
	var found *hcl.Diagnostic
	for _, d := range diags {
		if d.Severity == hcl.DiagError && (found == nil || offset(d) < offset(found)) {
			found = d
		}
	}
	return found
}

func offset(d *hcl.Diagnostic) int {
	if d.Subject == nil {
		return -1
	}
	return d.Subject.Start.Byte
}
