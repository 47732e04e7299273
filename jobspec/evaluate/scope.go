// Package evaluate evaluates the expressions of a job file. It adds three
// things to HCL: references to names that are only known at run time evaluate
// to their own text, JSON strings are parsed as templates, and an evaluation
// that grows without bound ends with an error.
package evaluate

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// A Scope contains everything that the expressions of a job file may refer to.
// It is not safe for concurrent use.
type Scope struct {
	concealing

	root     *hcl.EvalContext
	sources  map[string][]byte
	prepared map[hclsyntax.Expression]struct{}
	deferred []Reference
	hidden   []HiddenCall
	budget   *budget
	escapes  escapes
}

// NewScope returns a scope with functions and no variables. Sources, by file
// name, provide the text of references.
func NewScope(functions map[string]function.Function, sources map[string][]byte) *Scope {
	return &Scope{
		root: &hcl.EvalContext{
			Functions: functions,
			Variables: map[string]cty.Value{},
		},
		sources:  sources,
		prepared: map[hclsyntax.Expression]struct{}{},
		budget:   &budget{left: wholeBudget},
	}
}

// Define sets a variable of the scope.
func (s *Scope) Define(name string, value cty.Value) { s.root.Variables[name] = value }

// Root returns the outermost context, the parent of all others.
func (s *Scope) Root() *hcl.EvalContext { return s.root }

// Deferred returns the references found so far that have no value yet.
func (s *Scope) Deferred() []Reference { return s.deferred }

// HiddenCalls returns the calls found so far of functions that do not exist, where
// another call hides the error.
func (s *Scope) HiddenCalls() []HiddenCall { return s.hidden }

// InSource converts a range of HCL to one in the file: the two differ in JSON
// strings with escapes.
func (s *Scope) InSource(r hcl.Range) hcl.Range {
	text, ok := s.escapes.find(r.Filename, r.Start.Byte)
	if !ok {
		return r
	}
	source := s.sources[r.Filename]
	r.Start = text.pos(source, r.Start.Byte)
	r.End = text.pos(source, r.End.Byte)
	return r
}
