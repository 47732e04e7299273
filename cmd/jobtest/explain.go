package jobtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/diagnostic"
)

// Explain adds to the diagnostics of conditions what is known of the objects they
// look at. It suggests the nearest name, where HCL takes any that is near.
func Explain(diags hcl.Diagnostics) {
	for _, diag := range diags {
		switch diag.Summary {
		case "Unsupported attribute":
			explainMember(diag)
		case "Unknown variable", "Call to unknown function":
			explainName(diag)
		}
	}
}

func explainMember(diag *hcl.Diagnostic) {
	name, known := member(diag)
	if len(known) == 0 {
		return
	}
	diag.Summary = fmt.Sprintf("there is no attribute %q here", name)
	diag.Detail = "there is " + strings.Join(known, ", ")
	diagnostic.SetRemedy(diag, diagnostic.DidYouMean(name, known))
	diag.Expression = nil // the rest is explained already
}

func explainName(diag *hcl.Diagnostic) {
	diag.Detail, _, _ = strings.Cut(diag.Detail, " Did you mean ")
	what, name := "variable", ""
	switch expr := diag.Expression.(type) {
	case *hclsyntax.FunctionCallExpr:
		what, name = "function", expr.Name
	case *hclsyntax.ScopeTraversalExpr:
		name = expr.Traversal.RootName()
	}
	var known []string
	for ctx := diag.EvalContext; ctx != nil; ctx = ctx.Parent() {
		if what == "function" {
			known = slices.AppendSeq(known, maps.Keys(ctx.Functions))
		} else {
			known = slices.AppendSeq(known, maps.Keys(ctx.Variables))
		}
	}
	if remedy := diagnostic.DidYouMean(name, known); remedy != "" {
		diag.Summary, diag.Detail = fmt.Sprintf("there is no %s %q", what, name), ""
		diagnostic.SetRemedy(diag, remedy)
	}
}

// member returns the attribute that an object lacks, and those that it has.
func member(diag *hcl.Diagnostic) (name string, known []string) {
	var t cty.Type
	var steps hcl.Traversal
	switch expr := diag.Expression.(type) {
	case *hclsyntax.RelativeTraversalExpr:
		v, _ := expr.Source.Value(diag.EvalContext)
		t, steps = v.Type(), expr.Traversal
		if _, each := expr.Source.(*hclsyntax.AnonSymbolExpr); each { // of a splat, whose value is gone
			name, _, _ := strings.Cut(strings.TrimPrefix(diag.Detail, `This object does not have an attribute named "`), `"`)
			return name, slices.Sorted(maps.Keys(EventType.AttributeTypes()))
		}
	case *hclsyntax.ScopeTraversalExpr:
		v := diag.EvalContext.Variables[expr.Traversal.RootName()]
		if v == cty.NilVal {
			return "", nil
		}
		t, steps = v.Type(), expr.Traversal[1:]
	}
	for _, step := range steps {
		attr, isAttr := step.(hcl.TraverseAttr)
		switch {
		case t == cty.NilType:
			return "", nil
		case isAttr && t.IsObjectType() && !t.HasAttribute(attr.Name):
			return attr.Name, slices.Sorted(maps.Keys(t.AttributeTypes()))
		case isAttr && t.IsObjectType():
			t = t.AttributeType(attr.Name)
		case t.IsCollectionType():
			t = t.ElementType()
		default:
			return "", nil
		}
	}
	return "", nil
}

// loops walks an expression and evaluates what is in its for expressions once:
// with lists of unknown length that is not done otherwise.
type loops struct {
	contexts []*hcl.EvalContext
	diags    hcl.Diagnostics
}

// Enter evaluates the parts of a for expression.
func (l *loops) Enter(node hclsyntax.Node) hcl.Diagnostics {
	loop, ok := node.(*hclsyntax.ForExpr)
	if !ok {
		return nil
	}
	ctx := l.contexts[len(l.contexts)-1]
	list, _ := loop.CollExpr.Value(ctx)
	key, element := cty.DynamicVal, cty.DynamicVal
	if t := list.Type(); t.IsCollectionType() {
		element = cty.UnknownVal(t.ElementType())
		key = cty.UnknownVal(cty.Number)
		if t.IsMapType() {
			key = cty.UnknownVal(cty.String)
		}
	}
	child := ctx.NewChild()
	child.Variables = map[string]cty.Value{loop.ValVar: element}
	if loop.KeyVar != "" {
		child.Variables[loop.KeyVar] = key
	}
	for _, part := range []hclsyntax.Expression{loop.KeyExpr, loop.ValExpr, loop.CondExpr} {
		if part != nil {
			_, diags := part.Value(child)
			l.diags = append(l.diags, diags...)
		}
	}
	l.contexts = append(l.contexts, child)
	return nil
}

// Exit leaves a for expression.
func (l *loops) Exit(node hclsyntax.Node) hcl.Diagnostics {
	if _, ok := node.(*hclsyntax.ForExpr); ok {
		l.contexts = l.contexts[:len(l.contexts)-1]
	}
	return nil
}

// NotBool is the diagnostic of a condition whose value is another one.
func NotBool(at hcl.Range, v cty.Value) *hcl.Diagnostic {
	return diagnostic.Error(at, "the condition must be true or false", "it is "+describe(v), "compare it, as in … == 3")
}

func isBool(t cty.Type) bool { return t == cty.Bool || t == cty.DynamicPseudoType }

// describe names a value, which may be unknown.
func describe(v cty.Value) string {
	if v.IsKnown() {
		return diagnostic.Describe(v)
	}
	switch t := v.Type(); {
	case t.IsObjectType(), t.IsMapType():
		return "a map"
	case t.IsListType(), t.IsTupleType():
		return "a list"
	default:
		return "a " + t.FriendlyName()
	}
}
