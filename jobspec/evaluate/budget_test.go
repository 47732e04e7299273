package evaluate

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/function"
	"taskrun/jobspec/syntax"
)

// scope returns a scope and an expression, which is the value of a.
func scope(t *testing.T, text string) (*Scope, hclsyntax.Expression) {
	t.Helper()
	text = "a = " + text + "\n"
	body, diags := syntax.Parse([]byte(text), "t")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	found, diags := body.JustAttributes()
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	s := NewScope(function.Table(""), map[string][]byte{"t": []byte(text)})
	s.Define("var", cty.ObjectVal(map[string]cty.Value{
		"v": cty.StringVal("val"), "secret": cty.StringVal("hush"), "list": cty.ListVal([]cty.Value{cty.True}),
	}))
	expr, diags := s.Native(found["a"].Expr)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return s, expr
}

// An evaluation pays for its value, and in loops, branches, arguments and
// templates for the parts as well: a price for each, plus its value. The value
// of a string is its length plus 1, of a number about 2, of true 1, and of a
// list 16 for each element.
func TestPrices(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`"abcdefgh"`:                       0, // already in the file
		`var.v`:                            4,
		`"x${var.v}yz"`:                    partPrice + 4 + 7, // literal parts are free
		`"${var.list[0]}"`:                 1,                 // not a template: the value itself
		`"a${true}"`:                       partPrice + 1 + 6,
		`var.v == "val" ? var.v : "other"`: 2*partPrice + 4 + 6 + 4, // HCL evaluates both branches
		`upper(var.v)`:                     partPrice + 4 + 4,
		`convert(var.v, string)`:           partPrice + 4 + 4, // a type is free
		`[for x in var.list : x]`:          loopPrice + 18 + loopPrice + 1 + 1 + elementPrice + 1,
		`[for x in var.list : x if x]`:     loopPrice + 18 + 3*(loopPrice+1) + 1 + elementPrice + 1, // HCL tries the condition first
		`{ for x in var.list : x => x }`:   loopPrice + 18 + loopPrice + 1 + loopPrice + 1 + 1 + elementPrice + 4 + 1,
	} {
		s, expr := scope(t, text)
		if _, diags := s.Value(expr, s.Root()); diags.HasErrors() {
			t.Error(diags)
		}
		if got := wholeBudget - s.budget.left; got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
		if s.budget.running {
			t.Errorf("%s: the evaluation goes on", text)
		}
	}
}

// elementPrice is the price of an element in function.Size, besides its own.
const elementPrice = 16

// The budget can be spent to the last byte, and not beyond: by values, by
// constants, and by blocks.
func TestEndOfTheBudget(t *testing.T) {
	t.Parallel()
	value := func(s *Scope, expr hclsyntax.Expression) hcl.Diagnostics {
		_, diags := s.Value(expr, s.Root())
		return diags
	}
	for name, c := range map[string]struct {
		text  string
		price int
		spend func(*Scope, hclsyntax.Expression) hcl.Diagnostics
	}{
		"value": {"var.v", 4, value},
		"part":  {`"${var.v}${var.v}"`, 2*(partPrice+4) + 7, value},
		"constant": {`"abc"`, 4, func(s *Scope, expr hclsyntax.Expression) hcl.Diagnostics {
			_, diags := s.Strict(expr, nil)
			return diags
		}},
		"block": {"1", blockPrice, func(s *Scope, expr hclsyntax.Expression) hcl.Diagnostics { return s.SpendBlock(expr.Range()) }},
	} {
		for left, enough := range map[int]bool{c.price: true, c.price - 1: false} {
			s, expr := scope(t, c.text)
			s.budget.left = left
			diags := c.spend(s, expr)
			if diags.HasErrors() == enough {
				t.Errorf("%s for %d of %d: %v", name, c.price, left, diags)
			}
			if !enough && (len(diags) != 1 || *diags[0].Subject != expr.Range() ||
				diags[0].Detail != "the expressions of one file may produce 64 MiB in all; the limit was reached here") {
				t.Errorf("%s: %v", name, diags)
			}
		}
	}
}

// A panic of a function is not taken for the end of the budget.
func TestPanicsPass(t *testing.T) {
	t.Parallel()
	s, expr := scope(t, "var.v")
	defer func() {
		if v := recover(); v != "oh" {
			t.Errorf("recovered %v", v)
		}
	}()
	_, _ = s.Value(&panicking{expr}, s.Root())
	t.Error("the panic is gone")
}

type panicking struct{ hclsyntax.Expression }

func (*panicking) Value(*hcl.EvalContext) (cty.Value, hcl.Diagnostics) { panic("oh") }

// An expression that depends on a secret is concealed, however it refers to it,
// and whenever it is evaluated.
func TestConcealed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`var.secret`:                        true,
		`var["secret"]`:                     true,
		`"x-${upper(var.secret)}"`:          true,
		`var`:                               true, // all of them
		`[for k, v in var : k]`:             true,
		`var[later.name]`:                   true, // it may refer to the secret
		`var[0]`:                            true,
		`[for secret in var.list : secret]`: false,
		`var.v`:                             false,
		`var["v"]`:                          false,
		`local.secret`:                      false, // another one
		`later.token`:                       true,  // known only at run time
		`later.other`:                       false,
		`item.value`:                        true, // of the context
		`"literal"`:                         false,
	} {
		s, expr := scope(t, text)
		if s.Conceals(expr, s.Root()) {
			t.Errorf("%s: there is no secret yet", text)
		}
		s.Conceal("var", "secret")
		s.Conceal("var", "another")
		s.Conceal("later", "token")
		outer := s.Root().NewChild()
		outer.Variables = map[string]cty.Value{"item": cty.ObjectVal(map[string]cty.Value{"value": cty.True}), "local": cty.EmptyObjectVal}
		s.ConcealIn(outer, "item")
		ctx := outer.NewChild()
		for range 2 {
			_, _ = s.Value(expr, ctx)
		}
		if got := len(s.Concealed()) == 2; got != want || len(s.Concealed()) == 1 {
			t.Errorf("%s: %d of 2 values are concealed", text, len(s.Concealed()))
		}
		if want && s.Concealed()[1].Range != expr.Range() {
			t.Errorf("%s: %v, want %v", text, s.Concealed()[1].Range, expr.Range())
		}
		if text == `item.value` {
			inner := ctx.NewChild()
			inner.Variables = map[string]cty.Value{"item": cty.EmptyObjectVal}
			if s.Conceals(expr, inner) {
				t.Error("another item of that name is concealed")
			}
		}
	}
	s, expr := scope(t, `"<${var.secret}>"`)
	s.Conceal("var", "secret")
	_, _ = s.Value(expr, s.Root())
	if got := s.Concealed()[0].Value.AsString(); got != "<hush>" {
		t.Errorf("the value is %q", got)
	}
}
