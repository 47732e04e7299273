package jobspec

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"taskrun/jobspec/evaluate"
	"taskrun/jobspec/function"
)

// A validation is a condition that the value of a variable must meet.
type validation struct {
	condition hcl.Expression
	message   string
	declared  hcl.Range
}

func validationSchema() *hcl.BodySchema {
	return &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
		{Name: "condition", Required: true},
		{Name: "error_message", Required: true},
	}}
}

// addValidation reads a validation block of a variable.
func (p *parser) addValidation(v *variable, block *hcl.Block) hcl.Diagnostics {
	content, diags := block.Body.Content(validationSchema())
	rule := validation{declared: block.DefRange}
	if a := content.Attributes["error_message"]; a != nil {
		text, moreDiags := p.constantText(a.Expr, "an error message")
		diags = append(diags, moreDiags...)
		if !moreDiags.HasErrors() && isBlank(text) {
			diags = append(diags, problem(a.Expr.Range(), "the error message is empty", "", ""))
		}
		rule.message = text
	}
	if a := content.Attributes["condition"]; a != nil {
		condition, moreDiags := evaluate.Native(a.Expr)
		if diags = append(diags, moreDiags...); moreDiags.HasErrors() {
			return diags
		}
		rule.condition = condition
		moreDiags = checkCondition(v, condition)
		if diags = append(diags, moreDiags...); moreDiags.HasErrors() {
			return diags
		}
		v.validations = append(v.validations, rule)
	}
	return diags
}

// checkCondition makes sure that a condition speaks of its variable alone.
func checkCondition(v *variable, condition hcl.Expression) hcl.Diagnostics {
	var diags hcl.Diagnostics
	own := false
	for _, traversal := range condition.Variables() {
		if isOwn(traversal, v.name) {
			own = true
			continue
		}
		diags = append(diags, problem(traversal.SourceRange(), "a condition may refer to its own variable alone",
			"", fmt.Sprintf("write var.%s", v.name)))
	}
	if !own && len(diags) == 0 {
		diags = append(diags, problem(condition.Range(), fmt.Sprintf("the condition does not mention var.%s", v.name),
			"It would be the same for every value.", ""))
	}
	return diags
}

func isOwn(traversal hcl.Traversal, name string) bool {
	if traversal.RootName() != "var" || len(traversal) < 2 {
		return false
	}
	switch step := traversal[1].(type) {
	case hcl.TraverseAttr:
		return step.Name == name
	default:
		return false
	}
}

// validate tests the value of a variable against its conditions.
func (p *parser) validate(v *variable) hcl.Diagnostics {
	if len(v.validations) == 0 || v.broken || v.value == cty.NilVal {
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
			diags = append(diags, problem(rule.condition.Range(), "a condition must be true or false", "", ""))
			continue
		}
		if result.True() {
			continue
		}
		at := v.at
		if at.Filename == "" {
			at = v.declared
		}
		diags = append(diags, problem(at, fmt.Sprintf("the %s of variable %q is not allowed", v.origin, v.name),
			fmt.Sprintf("%s (The rule is on line %d.)", rule.message, rule.declared.Start.Line), ""))
	}
	return diags
}
