package evaluate

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// A Concealed expression depends on values that no message may show.
type Concealed struct {
	Range hcl.Range // of the expression
	Value cty.Value // that it had; unknown after an error
}

// concealing is part of a Scope.
type concealing struct {
	names map[string]map[string]bool // var.NAME, local.NAME
	found []Concealed
	uses  map[hcl.Expression][]hcl.Traversal // of what was evaluated: preparing hides them
}

// mark begins the name of a variable that tells that the one of that name, such
// as the iterator of a dynamic block, is concealed. No file can name it.
const mark = "\x01"

// Conceal has no message show the value of root.name, as in var.password, nor
// one that depends on it.
func (s *Scope) Conceal(root, name string) {
	if s.conceal.names == nil {
		s.conceal.names = map[string]map[string]bool{}
	}
	if s.conceal.names[root] == nil {
		s.conceal.names[root] = map[string]bool{}
	}
	s.conceal.names[root][name] = true
}

// ConcealIn does the same for a variable of one context.
func (s *Scope) ConcealIn(ctx *hcl.EvalContext, name string) { ctx.Variables[mark+name] = cty.True }

// Conceals reports whether an expression depends on a value that is concealed.
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

// marked reports whether the innermost variable of that name is concealed.
func (s *Scope) marked(name string, ctx *hcl.EvalContext) bool {
	for ; ctx != nil; ctx = ctx.Parent() {
		if _, ok := ctx.Variables[name]; ok {
			return ctx.Variables[mark+name] != cty.NilVal
		}
	}
	return false
}

// Concealed returns the expressions met so far that are.
func (s *Scope) Concealed() []Concealed { return s.conceal.found }

func (s *Scope) note(expr hcl.Expression, v cty.Value) {
	s.conceal.found = append(s.conceal.found, Concealed{s.InSource(expr.Range()), v})
}
