package jobspec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/evaluate"
)

// DiagnosticsOf converts the HCL diagnostics of a file that belongs to a job
// file. The scope is that of its expressions; nil if none were evaluated.
func DiagnosticsOf(diags hcl.Diagnostics, scope *evaluate.Scope) Diagnostics {
	return (&parser{scope: scope}).diagnostics(diags)
}

// diagnostics converts diagnostics of HCL: without duplicates, in the order of
// the source, and in our words where HCL's are misleading.
func (p *parser) diagnostics(diags hcl.Diagnostics) Diagnostics {
	if p.scope != nil {
		p.conceal.addAll(p.scope.Concealed())
	}
	slices.SortStableFunc(diags, func(a, b *hcl.Diagnostic) int {
		return cmp.Compare(offsetOf(a), offsetOf(b))
	})
	var out Diagnostics
	seen := map[Diagnostic]struct{}{}
	for i, diag := range diags {
		if len(out) == maxDiagnostics {
			out = append(out, theRest(diags[i:]))
			break
		}
		found := p.diagnostic(diag)
		if _, again := seen[found]; !again {
			seen[found] = struct{}{}
			out = append(out, found)
		}
	}
	out.Sort()
	return out
}

func offsetOf(diag *hcl.Diagnostic) int {
	if diag.Subject == nil {
		return 0
	}
	return diag.Subject.Start.Byte
}

// theRest summarizes the diagnostics beyond the limit.
func theRest(diags hcl.Diagnostics) Diagnostic {
	p := Diagnostic{Severity: Warning, Summary: fmt.Sprintf("there are %d more diagnostics", len(diags))}
	if diags.HasErrors() {
		p.Severity = Error
	}
	return p
}

func (p *parser) diagnostic(diag *hcl.Diagnostic) Diagnostic {
	out := Diagnostic{Summary: plain(diag.Summary), Detail: diag.Detail}
	if !strings.Contains(out.Detail, ". ") {
		out.Detail = plain(out.Detail)
	}
	if diag.Severity == hcl.DiagWarning {
		out.Severity = Warning
	}
	if diag.Subject != nil {
		out.Range = p.place(*diag.Subject)
	} else if diag.Context != nil {
		out.Range = p.place(*diag.Context)
	}
	out.Remedy = diagnostic.Remedy(diag)
	if rest, name, ok := cutSuggestion(out.Detail); ok {
		out.Detail = rest
		out.Remedy = cmp.Or(out.Remedy, fmt.Sprintf("did you mean %q?", name))
	}
	explainReference(diag, &out)
	switch diag.Summary {
	case "Unsupported attribute":
		p.explainMember(diag, &out)
	case "Call to unknown function":
		explainUnknownFunction(diag, &out)
	case "Error in function call":
		p.explainCall(diag, &out)
	case "Ambiguous attribute key":
		out.Summary, out.Detail, out.Remedy = "a key with dots needs quotes", "", `write "a.b" = …, or (a.b) = … for a reference`
	case "Extraneous JSON object property":
		_, name, _ := strings.Cut(diag.Detail, "\"")
		name, _, _ = strings.Cut(name, "\"")
		out.Summary, out.Detail = fmt.Sprintf("unknown property %q", name), ""
	}
	p.conceal.hide(&out)
	return out
}

// explainMember names the variable or local that does not exist, instead of
// HCL's attribute of an object.
func (p *parser) explainMember(diag *hcl.Diagnostic, out *Diagnostic) {
	expr, ok := diag.Expression.(*hclsyntax.ScopeTraversalExpr)
	if !ok || len(expr.Traversal) < 2 {
		return
	}
	step, ok := expr.Traversal[1].(hcl.TraverseAttr)
	if !ok {
		return
	}
	known, what, remedy := fewNames(p.variables), "variable", `declare it: variable "`+step.Name+`" {}`
	exists := p.variables[step.Name] != nil
	switch expr.Traversal.RootName() {
	case "var":
	case "local":
		known, what, remedy = fewNames(p.locals), "local", "declare it in a locals block"
		exists = p.locals[step.Name] != nil
	default:
		return
	}
	if exists {
		return // but one of its own attributes does not
	}
	out.Range = p.place(step.SrcRange)
	out.Summary, out.Detail, out.Remedy = fmt.Sprintf("there is no %s %q", what, step.Name), "", remedy
	if near := diagnostic.Nearest(step.Name, known); near != "" {
		out.Remedy = fmt.Sprintf("did you mean %s.%s?", expr.Traversal.RootName(), near)
	} else if n := len(known); n > 0 && n <= 6 { // a longer list would not help
		out.Detail = "declared: " + strings.Join(known, ", ")
	}
}

// explainReference adds that an expression failed because it contains a
// reference that has no value yet.
func explainReference(diag *hcl.Diagnostic, out *Diagnostic) {
	if diag.Expression == nil {
		return
	}
	for _, traversal := range diag.Expression.Variables() {
		if text, ok := evaluate.DeferredText(traversal); ok {
			out.Detail = fmt.Sprintf("%s is known only when the task runs; until then it is a string", text)
			return
		}
	}
}

// cutSuggestion separates HCL's final question from a detail.
func cutSuggestion(detail string) (rest, name string, ok bool) {
	rest, name, ok = strings.Cut(detail, " Did you mean \"")
	if !ok {
		return detail, "", false
	}
	name, _, ok = strings.Cut(name, "\"")
	return rest, name, ok
}

// plain converts a sentence of HCL to our style: lower case, no full stop.
func plain(text string) string {
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	if second, _ := utf8.DecodeRuneInString(text[size:]); unicode.IsUpper(second) {
		return strings.TrimSuffix(text, ".")
	}
	return string(unicode.ToLower(first)) + strings.TrimSuffix(text[size:], ".")
}
