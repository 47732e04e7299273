package jobspec

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/evaluate"
)

// explainCall names the call that failed and marks its whole range.
func (p *parser) explainCall(diag *hcl.Diagnostic, out *Diagnostic) {
	call, ok := diag.Extra.(hclsyntax.FunctionCallDiagExtra)
	if !ok || call.FunctionCallError() == nil {
		return
	}
	out.Summary = fmt.Sprintf("%s() fails", call.CalledFunctionName())
	out.Detail = call.FunctionCallError().Error()
	if diag.Context != nil {
		out.Range = p.place(*diag.Context)
	}
	if expr, ok := diag.Expression.(*hclsyntax.FunctionCallExpr); ok && strings.HasPrefix(expr.Name, "file") {
		out.Remedy = p.fileBeside(expr, diag.EvalContext)
	}
	if p.conceal.at(out.Range) { // the message may quote a part of the value
		out.Detail, out.Remedy = whyHidden, ""
	}
}

// fileBeside returns a remedy if a missing file exists beside the job file: the
// paths of file functions are relative to the current directory.
func (p *parser) fileBeside(expr *hclsyntax.FunctionCallExpr, ctx *hcl.EvalContext) string {
	if len(expr.Args) == 0 {
		return ""
	}
	v, diags := expr.Args[0].Value(ctx)
	if diags.HasErrors() || !v.IsKnown() || v.IsNull() || v.Type() != cty.String || filepath.IsAbs(v.AsString()) {
		return ""
	}
	dir := filepath.Dir(p.src.Name)
	if _, err := os.Stat(filepath.Join(dir, v.AsString())); err != nil {
		return ""
	}
	return "the path is relative to the current directory; run taskrun beside the job file: cd " + dir
}

// explainUnknownFunction suggests a replacement for a function that exists in
// Terraform or elsewhere.
func explainUnknownFunction(diag *hcl.Diagnostic, out *Diagnostic) {
	unknown, ok := diag.Extra.(hclsyntax.FunctionCallUnknownDiagExtra)
	if !ok {
		return
	}
	name := unknown.CalledFunctionNamespace() + unknown.CalledFunctionName()
	out.Summary, out.Detail = noFunction(name), ""
	if remedy := replacementFor(name); remedy != "" {
		out.Remedy = remedy
	}
}

func noFunction(name string) string { return fmt.Sprintf("there is no function %q", name) }

// hiddenCalls warns about functions that do not exist where no error shows it, as in
// can(regex(…)), which is always false.
func hiddenCalls(scope *evaluate.Scope) (diags hcl.Diagnostics) {
	calls := scope.HiddenCalls()
	if len(calls) == 0 {
		return nil
	}
	known := slices.Collect(maps.Keys(scope.Root().Functions))
	for _, call := range calls {
		remedy := cmp.Or(replacementFor(call.Name), diagnostic.DidYouMean(call.Name, known))
		diags = append(diags, diagnostic.Warning(call.Range, noFunction(call.Name), call.By+"() hides this error", remedy))
	}
	return diags
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
		return "there is only regex_replace(text, pattern, replacement); a text that it changes matches the pattern"
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
