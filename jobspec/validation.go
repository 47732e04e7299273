package jobspec

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/function"
)

func (p *parser) addValidation(v *variable, form *validationForm) hcl.Diagnostics {
	if form.Condition == nil || form.ErrorMessage == nil {
		return nil // reported as missing
	}
	message, diags := p.constantText(form.ErrorMessage, "an error message")
	if !diags.HasErrors() && isBlank(message) {
		diags = append(diags, diagnostic.Error(form.ErrorMessage.Range(), "the error message is empty", "", ""))
	}
	condition, moreDiags := p.scope.Native(form.Condition)
	if !moreDiags.HasErrors() {
		moreDiags = checkCondition(v, condition)
	}
	if diags = append(diags, moreDiags...); !diags.HasErrors() {
		v.validations = append(v.validations, validation{condition, message, form.Block.Header})
	}
	return diags
}

// checkCondition checks that a condition refers to its variable only.
func checkCondition(v *variable, condition hcl.Expression) hcl.Diagnostics {
	var diags hcl.Diagnostics
	own := false
	for _, traversal := range condition.Variables() {
		if isOwn(traversal, v.name) {
			own = true
			continue
		}
		diags = append(diags, diagnostic.Error(traversal.SourceRange(), "a condition may refer to its own variable alone",
			"", fmt.Sprintf("write var.%s", v.name)))
	}
	if !own && len(diags) == 0 {
		diags = append(diags, diagnostic.Error(condition.Range(), fmt.Sprintf("the condition does not mention var.%s", v.name),
			"it would be the same for every value", ""))
	}
	return diags
}

func isOwn(traversal hcl.Traversal, name string) bool {
	if traversal.RootName() != "var" || len(traversal) < 2 {
		return false
	}
	step, ok := traversal[1].(hcl.TraverseAttr)
	return ok && step.Name == name
}

func (p *parser) validate(v *variable) hcl.Diagnostics {
	if len(v.validations) == 0 || v.broken {
		return nil
	}
	ctx := &hcl.EvalContext{
		Functions: function.TableWithoutFiles(),
		Variables: map[string]cty.Value{"var": cty.ObjectVal(map[string]cty.Value{v.name: v.value})},
	}
	var diags hcl.Diagnostics
	for _, rule := range v.validations {
		result, moreDiags := p.scope.Strict(rule.condition, ctx)
		if diags = append(diags, moreDiags...); moreDiags.HasErrors() || !result.IsKnown() {
			continue
		}
		result, err := convert.Convert(result, cty.Bool)
		if err != nil || result.IsNull() {
			diags = append(diags, diagnostic.Error(rule.condition.Range(), "a condition must be true or false", "", ""))
			continue
		}
		if result.True() {
			continue
		}
		diags = append(diags, diagnostic.Error(v.at, fmt.Sprintf("the %s of variable %q is not allowed", v.origin, v.name),
			fmt.Sprintf("%s (the rule is on line %d)", rule.message, rule.at.Start.Line), ""))
	}
	return diags
}

// constantText evaluates an expression that must be a string without
// references.
func (p *parser) constantText(expr hcl.Expression, what string) (string, hcl.Diagnostics) {
	value, diags := p.constant(expr, what)
	if diags.HasErrors() {
		return "", diags
	}
	value, err := convert.Convert(value, cty.String)
	if err != nil || value.IsNull() {
		return "", hcl.Diagnostics{diagnostic.Error(expr.Range(), what+" must be a string", "", "")}
	}
	return value.AsString(), nil
}

// constant evaluates an expression without references and calls. What names it in
// errors.
func (p *parser) constant(expr hcl.Expression, what string) (cty.Value, hcl.Diagnostics) {
	value, diags := p.scope.Strict(expr, nil)
	for _, diag := range diags {
		switch diag.Summary {
		case "Variables not allowed":
			diag.Summary, diag.Detail = what+" may not refer to anything", ""
		case "Function calls not allowed":
			diag.Summary, diag.Detail = what+" may not call functions", ""
		}
	}
	return value, diags
}
