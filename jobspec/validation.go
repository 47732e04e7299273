package jobspec

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"taskrun/jobspec/function"
)

func (p *parser) addValidation(v *variable, form *validationForm) {
	if form.Condition == nil || form.ErrorMessage == nil {
		return // reported as missing
	}
	message, ok := p.constantText(form.ErrorMessage, "an error message")
	if ok && isBlank(message) {
		p.refuse(form.ErrorMessage.Range(), "the error message is empty", "", "")
		ok = false
	}
	condition, diags := p.scope.Native(form.Condition)
	if p.report(diags...); !diags.HasErrors() && p.checkCondition(v, condition) && ok {
		v.validations = append(v.validations, validation{condition, message, form.Block.Header})
	}
}

// checkCondition checks that a condition refers to its variable only.
func (p *parser) checkCondition(v *variable, condition hcl.Expression) (ok bool) {
	own, others := false, false
	for _, traversal := range condition.Variables() {
		if isOwn(traversal, v.name) {
			own = true
			continue
		}
		others = true
		p.refuse(traversal.SourceRange(), "a condition may refer to its own variable alone", "", fmt.Sprintf("write var.%s", v.name))
	}
	if !own && !others {
		p.refuse(condition.Range(), fmt.Sprintf("the condition does not mention var.%s", v.name), "it would be the same for every value", "")
	}
	return own && !others
}

func isOwn(traversal hcl.Traversal, name string) bool {
	if traversal.RootName() != "var" || len(traversal) < 2 {
		return false
	}
	step, ok := traversal[1].(hcl.TraverseAttr)
	return ok && step.Name == name
}

func (p *parser) validate(v *variable) {
	if len(v.validations) == 0 || v.broken {
		return
	}
	ctx := &hcl.EvalContext{
		Functions: function.TableWithoutFiles(),
		Variables: map[string]cty.Value{"var": cty.ObjectVal(map[string]cty.Value{v.name: v.value})},
	}
	for _, rule := range v.validations {
		result, diags := p.scope.Strict(rule.condition, ctx)
		if p.report(diags...); diags.HasErrors() || !result.IsKnown() {
			continue
		}
		result, err := convert.Convert(result, cty.Bool)
		switch {
		case err != nil || result.IsNull():
			p.refuse(rule.condition.Range(), "a condition must be true or false", "", "")
		case result.False():
			p.refuse(v.at, fmt.Sprintf("the %s of variable %q is not allowed", v.origin, v.name),
				fmt.Sprintf("%s (the rule is on line %d)", rule.message, rule.at.Start.Line), "")
		}
	}
}

// constantText evaluates an expression that must be a string without
// references.
func (p *parser) constantText(expr hcl.Expression, what string) (text string, ok bool) {
	value, ok := p.constant(expr, what)
	if !ok {
		return "", false
	}
	value, err := convert.Convert(value, cty.String)
	if err != nil || value.IsNull() {
		p.refuse(expr.Range(), what+" must be a string", "", "")
		return "", false
	}
	return value.AsString(), true
}

// constant evaluates an expression without references and calls. what names it in
// errors.
func (p *parser) constant(expr hcl.Expression, what string) (value cty.Value, ok bool) {
	value, diags := p.scope.Strict(expr, nil)
	for _, diag := range diags {
		switch diag.Summary {
		case "Variables not allowed":
			diag.Summary, diag.Detail = what+" may not refer to anything", ""
		case "Function calls not allowed":
			diag.Summary, diag.Detail = what+" may not call functions", ""
		}
	}
	p.report(diags...)
	return value, !diags.HasErrors()
}
