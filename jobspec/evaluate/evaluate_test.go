package evaluate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/evaluate"
	"taskrun/jobspec/function"
	"taskrun/jobspec/syntax"
)

// attributes parses a text and returns its attributes with a scope for them.
func attributes(t *testing.T, text string) (*evaluate.Scope, hcl.Attributes) {
	t.Helper()
	body, diags := syntax.Parse([]byte(text), "t")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	found, diags := body.JustAttributes()
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	scope := evaluate.NewScope(function.Table(""), map[string][]byte{"t": []byte(text)})
	scope.Define("var", cty.ObjectVal(map[string]cty.Value{"v": cty.StringVal("val")}))
	return scope, found
}

// evaluated returns the scope of a text whose attribute a was evaluated twice: the second
// time, nothing is new.
func evaluated(t *testing.T, text string) *evaluate.Scope {
	t.Helper()
	scope, found := attributes(t, text)
	expr, diags := scope.Native(found["a"].Expr)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for range 2 {
		_, _ = scope.Value(expr, scope.Root())
	}
	return scope
}

func value(t *testing.T, scope *evaluate.Scope, expr hcl.Expression) (cty.Value, hcl.Diagnostics) {
	t.Helper()
	native, diags := scope.Native(expr)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	return scope.Value(native, scope.Root())
}

func TestReferencesStandForTheirText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]evaluate.Reference{
		`a = attr.x`:                                {{Root: "attr", Text: "${attr.x}", Bare: true}},
		`a = "${attr.x} ${ meta.y }"`:               {{Root: "attr", Text: "${attr.x}"}, {Root: "meta", Text: "${ meta.y }"}},
		`a = "${upper(attr.x)}"`:                    {{Root: "attr", Text: "${attr.x}", Bare: true}},
		`a = var.v`:                                 nil,
		`a = [for k in [1] : k + z]`:                {{Root: "z", Text: "${z}", Bare: true}},
		`a = { b = 1, (c) = 2 }`:                    {{Root: "c", Text: "${c}", Bare: true}},
		`a = convert(["1"], list(number))`:          nil,
		`a = convert(x, convert)`:                   {{Root: "x", Text: "${x}", Bare: true}},
		`{"a": "\"q\" ${attr.x} \u00e9 ${attr.y}"}`: {{Root: "attr", Text: "${attr.x}"}, {Root: "attr", Text: "${attr.y}"}},
		`{"a": {"${k.x}": ["${v.x}"]}}`:             {{Root: "k", Text: "${k.x}"}, {Root: "v", Text: "${v.x}"}},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			scope := evaluated(t, text)
			var got []evaluate.Reference
			for _, ref := range scope.Deferred() {
				ref.Range = hcl.Range{}
				got = append(got, ref)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStrictKnowsNoReferences(t *testing.T) {
	t.Parallel()
	for text, summary := range map[string]string{
		`a = attr.x`:                     "Variables not allowed",
		`a = var.v`:                      "Variables not allowed",
		`a = upper("")`:                  "Function calls not allowed",
		`a = [for k in ["x"] : "${k}y"]`: "",
		`{"a": "${attr.x}"}`:             "", // plain text in this context
	} {
		scope, found := attributes(t, text)
		_, diags := scope.Strict(found["a"].Expr, nil)
		switch {
		case summary == "" && diags.HasErrors():
			t.Errorf("%s: %v", text, diags)
		case summary != "" && (len(diags) != 1 || diags[0].Summary != summary):
			t.Errorf("%s: got %v, want %q", text, diags, summary)
		}
		if n := len(scope.Deferred()); n > 0 {
			t.Errorf("%s: %d references", text, n)
		}
	}
}

func TestBudgetCoversTheFile(t *testing.T) {
	t.Parallel()
	scope, found := attributes(t, "big = [for i in range(1000) : [for j in range(50) : j]]\nsmall = 1")
	failed := 0
	for range 20 {
		if _, diags := value(t, scope, found["big"].Expr); diags.HasErrors() {
			failed++
		}
	}
	if failed == 0 || failed == 20 {
		t.Errorf("%d of 20 evaluations fail", failed)
	}
	if _, diags := value(t, scope, found["small"].Expr); !diags.HasErrors() {
		t.Error("there is something left")
	}
	if diags := scope.SpendBlock(hcl.Range{}); !diags.HasErrors() {
		t.Error("there is something left for a block")
	}
}

func TestLiteral(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`name`: "name", `"a b"`: "a b", `"${x}"`: "", `1`: "", `a.b`: "", `""`: "", `null`: "",
		`{ name = 1 }`: "name", `{ "a b" = 1 }`: "a b", `{ (name) = 1 }`: "", `{ 1 = 1 }`: "", `{ "${x}" = 1 }`: "",
		`{"a": {"a b": 1}}`: "a b", `{"a": {"${x}": 1}}`: "",
	} {
		var expr hclsyntax.Expression
		if strings.HasPrefix(source, `{"`) { // of JSON syntax
			scope, found := attributes(t, source)
			expr, _ = scope.Native(found["a"].Expr)
		} else {
			var diags hcl.Diagnostics
			if expr, diags = hclsyntax.ParseExpression([]byte(source), "", hcl.Pos{}); diags.HasErrors() {
				t.Fatal(diags)
			}
		}
		if object, ok := expr.(*hclsyntax.ObjectConsExpr); ok {
			expr = object.Items[0].KeyExpr
		}
		if got, ok := evaluate.Literal(expr); got != want || ok != (want != "" || source == `""`) {
			t.Errorf("Literal(%s) = %q, %v", source, got, ok)
		}
	}
}

// JSON has values of all kinds, and its strings are templates; errors in them
// have the right place.
func TestJSON(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]cty.Value{
		`"x-${var.v}"`: cty.StringVal("x-val"), `1.5`: cty.NumberFloatVal(1.5), `true`: cty.True, `null`: cty.NullVal(cty.DynamicPseudoType), `""`: cty.StringVal(""),
		`"${1 + 1}"`:                   cty.NumberIntVal(2),
		`["${var.v}", 1, [null], []]`:  cty.TupleVal([]cty.Value{cty.StringVal("val"), cty.NumberIntVal(1), cty.TupleVal([]cty.Value{cty.NullVal(cty.DynamicPseudoType)}), cty.EmptyTupleVal}),
		`{"${var.v}": {"b": [false]}}`: cty.ObjectVal(map[string]cty.Value{"val": cty.ObjectVal(map[string]cty.Value{"b": cty.TupleVal([]cty.Value{cty.False})})}),
		`"${"`:                         cty.NilVal, `["${"]`: cty.NilVal, `{"b": "${"}`: cty.NilVal, `{"${": 1}`: cty.NilVal,
	} {
		scope, found := attributes(t, `{"a": `+source+`}`)
		got, diags := value(t, scope, found["a"].Expr)
		if want == cty.NilVal {
			if !diags.HasErrors() || got != cty.NilVal {
				t.Errorf("%s is %#v", source, got)
			}
		} else if diags.HasErrors() || !got.RawEquals(want) {
			t.Errorf("%s is %#v, want %#v; %v", source, got, want, diags)
		}
	}
	scope, found := attributes(t, `{"a": "x ${y}"}`)
	expr, _ := scope.Native(found["a"].Expr)
	if at := found["a"].Expr.Range(); expr.Range() != at || expr.StartRange() != at || at.Start.Byte != 6 || at.End.Byte != 14 {
		t.Errorf("%v and %v, want %v", expr.Range(), expr.StartRange(), at)
	}
	_, _ = scope.Value(expr, scope.Root())
	var deferred []string
	for _, traversal := range expr.Variables() {
		if text, ok := evaluate.DeferredText(traversal); ok {
			deferred = append(deferred, text)
		}
	}
	if len(deferred) != 1 || deferred[0] != "${y}" {
		t.Errorf("deferred are %q", deferred)
	}
	if text, ok := evaluate.DeferredText(hcl.Traversal{hcl.TraverseRoot{Name: "y"}}); ok {
		t.Errorf("deferred is %q", text)
	}
}

// Whatever the arguments of a function are, it returns a value or an error.
func TestAnyArguments(t *testing.T) {
	t.Parallel()
	arguments := []string{
		`""`, `"a,b"`, `"%s%5.2f"`, "-1", "1e9", "null", "attr.x",
		`["b", "", null]`, `{ a = "1", b = [2] }`, `toset(["b", null])`, "convert(null, string)", "convert([], list(object({ a = string })))",
	}
	for name := range function.Table("") {
		if name == "bcrypt" { // slow on purpose
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls []string
			for _, first := range arguments {
				calls = append(calls, first)
				for _, second := range arguments {
					calls = append(calls, first+", "+second)
				}
			}
			for _, call := range calls {
				scope, found := attributes(t, "a = jsonencode("+name+"("+call+"))")
				if v, diags := value(t, scope, found["a"].Expr); v == cty.NilVal && !diags.HasErrors() {
					t.Errorf("%s(%s): neither a value nor an error", name, call)
				}
			}
		})
	}
}

func TestHiddenCalls(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`a = can(regex("x", var.v))`:                   {"regex by can at 9"},
		`a = try(upper("x"), one([1]), can(two("x")))`: {"one by try at 21", "two by can at 35"},
		`a = [try(three(), "x"), can(upper(four()))]`:  {"three by try at 10", "four by can at 35"},
		`{"a": "${can(regex(\"x\", var.v))}"}`:         {"regex by can at 14"},
		`a = nope()`:                                   nil, // an error shows it
		`a = can(upper("x"))`:                          nil,
		`a = [can(1), nope()]`:                         nil,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			scope := evaluated(t, text)
			var got []string
			for _, call := range scope.HiddenCalls() {
				got = append(got, fmt.Sprintf("%s by %s at %d", call.Name, call.By, call.Range.Start.Column))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
