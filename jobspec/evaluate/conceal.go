package evaluate

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// A Concealed expression depends on values that must not appear in messages.
type Concealed struct {
	Range hcl.Range // of the expression
	Value cty.Value // its value; unknown after an error
}

// concealing is the part of a Scope that tracks concealed values.
type concealing struct {
	names map[string]map[string]bool // var.NAME, local.NAME
	found []Concealed
	uses  map[hcl.Expression][]hcl.Traversal // references in evaluated expressions, which prepare replaces
}

// mark is the prefix of a variable that marks the variable with the rest of the
// name, such as the iterator of a dynamic block, as concealed. No file can
// contain that name.
const mark = "\x01"

// Conceal hides the value of root.name, as in var.password, and of everything
// that depends on it, in messages.
func (c *concealing) Conceal(root, name string) {
	if c.names == nil {
		c.names, c.uses = map[string]map[string]bool{}, map[hcl.Expression][]hcl.Traversal{}
	}
	if c.names[root] == nil {
		c.names[root] = map[string]bool{}
	}
	c.names[root][name] = true
}

// ConcealIn is like Conceal for a variable of one context.
func (*concealing) ConcealIn(ctx *hcl.EvalContext, name string) { ctx.Variables[mark+name] = cty.True }

// Conceals reports whether an expression depends on a concealed value.
func (c *concealing) Conceals(expr hcl.Expression, ctx *hcl.EvalContext) bool {
	if c.names == nil {
		return false
	}
	uses, known := c.uses[expr]
	if !known {
		uses = expr.Variables()
		c.uses[expr] = uses
	}
	for _, traversal := range uses {
		root := traversal.RootName()
		if marked(root, ctx) {
			return true
		}
		names := c.names[root]
		if len(names) == 0 {
			continue
		}
		if len(traversal) == 1 {
			return true // all of them
		}
		if name, ok := StepName(traversal, 1); !ok || names[name] {
			return true
		}
	}
	return false
}

// marked reports whether the innermost variable with a name is concealed.
func marked(name string, ctx *hcl.EvalContext) bool {
	for ; ctx != nil; ctx = ctx.Parent() {
		if _, ok := ctx.Variables[name]; ok {
			return ctx.Variables[mark+name] != cty.NilVal
		}
	}
	return false
}

// Concealed returns the concealed expressions found so far.
func (c *concealing) Concealed() []Concealed { return c.found }

// note records a concealed expression and its value.
func (c *concealing) note(at hcl.Range, v cty.Value) { c.found = append(c.found, Concealed{at, v}) }
