package catalog

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec"
)

// The first part of a value that does not fit is found; options that a driver
// decodes itself always fit.
func TestFindMisfit(t *testing.T) {
	t.Parallel()
	object := cty.Object(map[string]cty.Type{"a": cty.Number})
	for _, c := range []struct {
		value any
		ty    cty.Type
		want  string // path; empty: it fits
	}{
		{"x", object, ""},
		{"x", cty.Tuple([]cty.Type{cty.Number}), ""},
		{nil, cty.Number, ""},
		{[]any{1}, cty.DynamicPseudoType, ""},
		{"x", cty.Number, "o"},
		{"1.5", cty.Number, ""},
		{"${x}", cty.Number, ""},
		{"%{if x}", cty.Number, ""},
		{"x", cty.Bool, "o"},
		{"true", cty.Bool, ""},
		{true, cty.String, ""},
		{true, cty.Bool, ""},
		{true, cty.Number, "o"},
		{1, cty.String, ""},
		{1, cty.Number, ""},
		{1, cty.Bool, "o"},
		{[]any{}, cty.String, "o"},
		{map[string]any{}, cty.String, "o"},
		{[]any{"1", "x"}, cty.List(cty.Number), "o[1]"},
		{[]int{1, 2}, cty.Set(cty.Bool), "o[0]"},
		{"x", cty.List(cty.String), "o"},
		{[]any{}, cty.List(cty.Number), ""},
		{map[string]any{"a": 1}, cty.List(cty.Map(cty.Number)), ""},
		{map[string]any{"a": "x"}, cty.List(cty.Map(cty.Number)), "o.a"},
		{map[string]any{"b": "x", "a": "y"}, cty.Map(cty.Number), "o.a"},
		{[]any{map[string]any{"a": "x"}}, cty.Map(cty.Number), "o[0].a"},
		{[]any{map[string]any{}, map[string]any{}}, cty.Map(cty.Number), "o"},
		{"x", cty.Map(cty.String), "o"},
	} {
		m, found := findMisfit(c.value, c.ty, jobspec.Path("config.o"))
		if want := jobspec.Path("config." + c.want); found != (c.want != "") || found && m.at != want {
			t.Errorf("%v as %s: %t at %s, want %s", c.value, c.ty.FriendlyName(), found, m.at, want)
		}
	}
}

// A type is named as it is written in a job file.
func TestDescribe(t *testing.T) {
	t.Parallel()
	for want, ty := range map[string]cty.Type{
		"a string": cty.String, "a number": cty.Number, "true or false": cty.Bool, "a list of strings": cty.List(cty.String), "a list of numbers": cty.Set(cty.Number),
		"a map of values": cty.Map(cty.Bool), "a map of strings": cty.List(cty.Map(cty.String)),
	} {
		if got := describe(ty); got != want {
			t.Errorf("%s: %q, want %q", ty.FriendlyName(), got, want)
		}
	}
}

func TestDetailOfAMisfit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "this is null"},
		{[]any{1}, "this is a list"},
		{[]map[string]any{}, "this is a list"},
		{map[string]any{"a": "b"}, "this is a map"},
		{"text", `this is the string "text"`},
		{strings.Repeat("é", 40), `this is the string "` + strings.Repeat("é", 40) + `"`},
		{strings.Repeat("é", 41), "this is a string"},
		{7, "this is 7"},
		{true, "this is true"},
	} {
		if got := (misfit{value: c.value}).detail(); got != c.want {
			t.Errorf("%v: %q, want %q", c.value, got, c.want)
		}
	}
}
