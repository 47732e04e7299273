package decode_test

import (
	"errors"
	"math/big"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/decode"
)

// A value that is not known, or has no form in JSON, is an error wherever it is.
func TestPlain(t *testing.T) {
	t.Parallel()
	negative := errors.New("negative")
	number := func(n *big.Float) (any, error) {
		if n.Sign() < 0 {
			return nil, negative
		}
		return n.String(), nil
	}
	one, unknown := cty.NumberIntVal(1), cty.UnknownVal(cty.String)
	for name, tt := range map[string]struct {
		value cty.Value
		want  any
	}{
		"null":    {cty.NullVal(cty.String), nil},
		"scalars": {cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.True, cty.False, one}), []any{"a", true, false, "1"}},
		"a set":   {cty.SetVal([]cty.Value{cty.StringVal("a")}), []any{"a"}},
		"empty":   {cty.ListValEmpty(cty.String), []any{}},
		"a map":   {cty.MapVal(map[string]cty.Value{"k": one}), map[string]any{"k": "1"}},
	} {
		got, err := decode.Plain(tt.value, number)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	for name, value := range map[string]cty.Value{
		"unknown": unknown, "a number that is refused": cty.NumberIntVal(-1), "a capsule": cty.CapsuleVal(cty.Capsule("box", reflect.TypeFor[int]()), new(int)),
	} {
		for place, v := range map[string]cty.Value{
			"alone": value, "in a list": cty.TupleVal([]cty.Value{value}), "in a map": cty.ObjectVal(map[string]cty.Value{"k": value}),
		} {
			if got, err := decode.Plain(v, number); err == nil || got != nil {
				t.Errorf("%s, %s: %v, %v", name, place, got, err)
			}
		}
	}
}
