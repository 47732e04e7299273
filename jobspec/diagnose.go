package jobspec

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"taskrun/jobspec/decode"
)

// problem is an error found by this package while HCL's diagnostics are being
// collected; caution is a warning.
func problem(at hcl.Range, summary, detail, remedy string) *hcl.Diagnostic {
	diag := &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at}
	if remedy != "" {
		diag.Extra = decode.Remedy(remedy)
	}
	return diag
}

func caution(at hcl.Range, summary, detail, remedy string) *hcl.Diagnostic {
	diag := problem(at, summary, detail, remedy)
	diag.Severity = hcl.DiagWarning
	return diag
}

// problems turns diagnostics into problems, each once and in our words where
// HCL's miss the point.
func (p *parser) problems(diags hcl.Diagnostics) Problems {
	var out Problems
	for _, diag := range diags {
		found := p.problem(diag)
		if !slices.Contains(out, found) {
			out = append(out, found)
		}
	}
	out.Sort()
	return out
}

func (p *parser) problem(diag *hcl.Diagnostic) Problem {
	out := Problem{Summary: plainSummary(diag.Summary), Detail: diag.Detail}
	if diag.Severity == hcl.DiagWarning {
		out.Severity = Warning
	}
	if diag.Subject != nil {
		out.Range = rangeOf(*diag.Subject)
	} else if diag.Context != nil {
		out.Range = rangeOf(*diag.Context)
	}
	if remedy, ok := diag.Extra.(decode.Remedy); ok {
		out.Remedy = string(remedy)
		return out
	}
	if rest, name, ok := cutSuggestion(out.Detail); ok {
		out.Detail, out.Remedy = rest, fmt.Sprintf("did you mean %q?", name)
	}
	switch diag.Summary {
	case "Unsupported attribute":
		p.explainMember(diag, &out)
	case "Call to unknown function":
		p.explainFunction(diag, &out)
	}
	return out
}

// explainMember names the variable or local that does not exist, where HCL
// speaks of an attribute of an object.
func (p *parser) explainMember(diag *hcl.Diagnostic, out *Problem) {
	expr, ok := diag.Expression.(*hclsyntax.ScopeTraversalExpr)
	if !ok || len(expr.Traversal) < 2 {
		return
	}
	step, ok := expr.Traversal[1].(hcl.TraverseAttr)
	if !ok {
		return
	}
	known, what, remedy := p.variables.names(), "variable", `declare it: variable "`+step.Name+`" {}`
	switch expr.Traversal.RootName() {
	case "var":
	case "local":
		known, what, remedy = p.locals.names(), "local", "declare it in a locals block"
	default:
		return
	}
	out.Range = rangeOf(step.SrcRange)
	if slices.Contains(known, step.Name) {
		return // it exists; one of its own attributes does not
	}
	out.Summary, out.Detail, out.Remedy = fmt.Sprintf("there is no %s %q", what, step.Name), "", remedy
	if near := decode.Suggest(step.Name, known); near != "" {
		out.Remedy = fmt.Sprintf("did you mean %s.%s?", expr.Traversal.RootName(), near)
	}
}

// explainFunction tells what to call in place of a function that other users
// of HCL have.
func (p *parser) explainFunction(diag *hcl.Diagnostic, out *Problem) {
	unknown, ok := diag.Extra.(hclsyntax.FunctionCallUnknownDiagExtra)
	if !ok {
		return
	}
	name := unknown.CalledFunctionNamespace() + unknown.CalledFunctionName()
	out.Summary, out.Detail = fmt.Sprintf("there is no function %q", name), ""
	if remedy := replacementFor(name); remedy != "" {
		out.Remedy = remedy
	}
}

// replacementFor returns what to write for a function of Terraform that job
// files do not have.
func replacementFor(name string) string {
	if t, ok := strings.CutPrefix(name, "to"); ok {
		switch t {
		case "string", "number", "bool":
			return fmt.Sprintf("write convert(value, %s)", t)
		case "list", "set", "map":
			return fmt.Sprintf("write convert(value, %s(string))", t)
		}
	}
	switch name {
	case "regex", "regexall", "regexreplace":
		return "regex_replace(text, pattern, replacement) is what there is"
	case "templatefile":
		return "use a template block, or file() with replace()"
	case "env":
		return `declare a variable and set it with NOMAD_VAR_name; at run time write "${env["NAME"]}" or "${NAME}"`
	case "startswith", "endswith", "strcontains":
		return "compare with substr(), or use regex_replace()"
	case "timestamp":
		return "pass the time in as a variable"
	case "one":
		return "write value[0]"
	case "alltrue", "anytrue":
		return "use contains() on the list"
	case "sum", "setsubtract", "transpose", "matchkeys":
		return "write a for expression"
	}
	return ""
}

// cutSuggestion splits HCL's closing question off a detail.
func cutSuggestion(detail string) (rest, name string, ok bool) {
	rest, name, ok = strings.Cut(detail, " Did you mean \"")
	if !ok {
		return detail, "", false
	}
	name, _, ok = strings.Cut(name, "\"")
	return rest, name, ok
}

// plainSummary writes a summary of HCL in the form that ours have: lower case,
// no full stop.
func plainSummary(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if second, _ := utf8.DecodeRuneInString(text[size:]); unicode.IsUpper(second) {
		return strings.TrimSuffix(text, ".")
	}
	return string(unicode.ToLower(first)) + strings.TrimSuffix(text[size:], ".")
}
