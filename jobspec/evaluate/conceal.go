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
func (s *Scope) Conceal(root, name string) {
	if s.conceal.names == nil {
		s.conceal.names = map[string]map[string]bool{}
	}
	if s.conceal.names[root] == nil {
		s.conceal.names[root] = map[string]bool{}
	}
	s.conceal.names[root][name] = true
}

// ConcealIn is like Conceal for a variable of one context.
func (s *Scope) ConcealIn(ctx *hcl.EvalContext, name string) { ctx.Variables[mark+name] = cty.True }

// Conceals reports whether an expression depends on a concealed value.
func (s *Scope) Conceals(expr hcl.Expression, ctx *hcl.EvalContext) bool {
	if s.conceal.names == nil {
		return false
	}
	uses, known := s.conceal.uses[expr]
	if !known {
		if s.conceal.uses == nil {
			s.conceal.uses = map[hcl.Expression][]hcl.Traversal{}
		}
		uses = expr.Variables()
		s.conceal.uses[expr] = uses
	}
	for _, traversal := range uses {
		root := traversal.RootName()
		if s.marked(root, ctx) {
			return true
		}
		names := s.conceal.names[root]
		if len(names) == 0 {
			continue
		}
		if len(traversal) == 1 {
			return true // all of them
		}
		switch step := traversal[1].(type) {
		case hcl.TraverseAttr:
			if names[step.Name] {
				return true
			}
		case hcl.TraverseIndex:
			if name, ok := stringOf(step.Key); !ok || names[name] {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// marked reports whether the innermost variable with a name is concealed.
func (s *Scope) marked(name string, ctx *hcl.EvalContext) bool {
	for ; ctx != nil; ctx = ctx.Parent() {
		if _, ok := ctx.Variables[name]; ok {
			return ctx.Variables[mark+name] != cty.NilVal
		}
	}
	return false
}

// Concealed returns the concealed expressions found so far.
func (s *Scope) Concealed() []Concealed { return s.conceal.found }

func (s *Scope) note(expr hcl.Expression, v cty.Value) {
	s.conceal.found = append(s.conceal.found, Concealed{s.InSource(expr.Range()), v})
}
