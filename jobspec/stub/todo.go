package stub

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec"
)

const todoName = "TODO"

// todos finds the placeholders of a stubs file, in order.
func (p *parser) todos(body *hclsyntax.Body) {
	for _, b := range body.Blocks {
		need := Need{Kind: b.Type}
		if len(b.Labels) > 0 {
			need = NeedOf(b.Type, b.Labels[0])
		}
		for call := range calls(b.Body) {
			t := Todo{Need: need, Name: b.Type, At: jobspec.RangeOf(call.Range()), block: b.DefRange()}
			if b.Type == NodeBlock {
				t.Label = nodeReference(b.Body, call)
			}
			if len(call.Args) > 0 {
				if name, diags := call.Args[0].Value(nil); !diags.HasErrors() && name.Type() == cty.String && name.IsWhollyKnown() && !name.IsNull() {
					t.Name = name.AsString()
				}
			}
			p.set.Todos = append(p.set.Todos, t)
		}
	}
}

// calls yields the calls of TODO in a node of the syntax.
func calls(node hclsyntax.Node) func(yield func(*hclsyntax.FunctionCallExpr) bool) {
	return func(yield func(*hclsyntax.FunctionCallExpr) bool) {
		on := true
		_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
			if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && on && call.Name == todoName {
				on = yield(call)
			}
			return nil
		})
	}
}

// todoIn returns the first placeholder in a range.
func (p *parser) todoIn(r hcl.Range) (Todo, bool) {
	i := slices.IndexFunc(p.set.Todos, func(t Todo) bool {
		return r.Start.Byte <= t.At.Start.Byte && t.At.End.Byte <= r.End.Byte
	})
	if i < 0 {
		return Todo{}, false
	}
	return p.set.Todos[i], true
}

func (p *parser) hasTodo(header hcl.Range) bool {
	return slices.ContainsFunc(p.set.Todos, func(t Todo) bool { return t.block.Start.Byte == header.Start.Byte })
}

// nodeReference returns the name of the reference to a value of the node block
// that has a placeholder.
func nodeReference(body *hclsyntax.Body, call *hclsyntax.FunctionCallExpr) string {
	within := func(n hclsyntax.Node) bool {
		r := n.Range()
		return r.Start.Byte <= call.Range().Start.Byte && call.Range().End.Byte <= r.End.Byte
	}
	prefixes := map[string]string{"meta": "meta.", "attributes": "attr."}
	for name, a := range body.Attributes {
		if !within(a.Expr) {
			continue
		}
		object, ok := a.Expr.(*hclsyntax.ObjectConsExpr)
		if prefixes[name] == "" || !ok {
			return "node." + strings.Replace(name, "name", "unique.name", 1)
		}
		for _, item := range object.Items {
			if key, diags := item.KeyExpr.Value(nil); within(item.ValueExpr) && !diags.HasErrors() && key.Type() == cty.String && key.IsKnown() && !key.IsNull() {
				return prefixes[name] + key.AsString()
			}
		}
	}
	for _, b := range body.Blocks {
		for name, a := range b.Body.Attributes {
			if within(a.Expr) {
				return prefixes[b.Type] + name
			}
		}
	}
	return ""
}
