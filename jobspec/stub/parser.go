package stub

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/decode"
	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/evaluate"
)

type parser struct {
	dir   string
	scope *evaluate.Scope
	set   *Set
	diags hcl.Diagnostics
}

func (p *parser) refuse(at hcl.Range, summary, detail, remedy string) {
	p.diags = append(p.diags, diagnostic.Error(at, summary, detail, remedy))
}

// isRefused reports whether there is an error in a range, so that its value is not
// known.
func (p *parser) isRefused(r hcl.Range) bool {
	return slices.ContainsFunc(p.diags, func(d *hcl.Diagnostic) bool {
		return d.Severity == hcl.DiagError && d.Subject != nil && r.Start.Byte <= d.Subject.Start.Byte && d.Subject.End.Byte <= r.End.Byte
	})
}

func (p *parser) twice(b decode.Block, kind, label string) {
	p.refuse(b.Header, fmt.Sprintf("%s %q is defined twice", kind, label), "", "remove one of them")
}

const (
	noReferences = "stubs may not refer to anything"
	instead      = "write the value, or $${…} for the text itself"
)

// strict evaluates an expression without references.
func (p *parser) strict(expr hcl.Expression) (cty.Value, bool) {
	v, diags := p.scope.Strict(expr, p.scope.Root())
	for _, diag := range diags {
		if diag.Summary == "Unknown variable" || diag.Summary == "Variables not allowed" {
			diag.Summary, diag.Detail = noReferences, ""
			diagnostic.SetRemedy(diag, instead)
		}
	}
	p.diags = append(p.diags, diags...)
	return v, !diags.HasErrors()
}

// noteSecret records that the value of an attribute is in the file, not read
// from another one.
func (p *parser) noteSecret(a *hcl.Attribute) {
	if _, call := a.Expr.(*hclsyntax.FunctionCallExpr); !call {
		p.set.secretive = true
	}
}
