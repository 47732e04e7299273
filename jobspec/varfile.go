package jobspec

import (
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"taskrun/jobspec/decode"
	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/syntax"
)

// A varFile is a parsed file of values for variables.
type varFile struct {
	name string
	body hcl.Body
}

// readVarFiles parses the files of values.
func (p *parser) readVarFiles() ([]varFile, hcl.Diagnostics) {
	var files []varFile
	var sources []Source
	var diags hcl.Diagnostics
	for _, path := range p.opts.VarFiles {
		text, err := readPath(path)
		if err != nil {
			diag := &hcl.Diagnostic{
				Severity: hcl.DiagError,
				Summary:  fmt.Sprintf("cannot read the file of values %q: %v", path, err),
			}
			if known := (Diagnostic{}); errors.As(err, &known) {
				diagnostic.SetRemedy(diag, known.Remedy)
			}
			diags = append(diags, diag)
			continue
		}
		sources = append(sources, Source{path, text})
	}
	for _, src := range append(sources, p.opts.VarTexts...) {
		p.file.Sources[src.Name] = src.Text
		p.conceal.keep(src.Name)
		body, moreDiags := syntax.Parse(src.Text, src.Name)
		diags = append(diags, moreDiags...)
		files = append(files, varFile{src.Name, body})
	}
	return files, diags
}

// setFromFile sets the variables that a file of values names.
func (p *parser) setFromFile(file varFile) hcl.Diagnostics {
	var diags hcl.Diagnostics
	if declarations, _, _ := file.body.PartialContent(&hcl.BodySchema{
		Blocks: []hcl.BlockHeaderSchema{{Type: "variable", LabelNames: []string{"name"}}},
	}); len(declarations.Blocks) > 0 {
		for _, block := range declarations.Blocks {
			diags = append(diags, diagnostic.Error(block.TypeRange, "a file of values cannot declare variables", "",
				fmt.Sprintf("to set the variable, write %s = VALUE", block.Labels[0])))
		}
		return diags
	}
	attributes, diags := file.body.JustAttributes()
	for _, a := range decode.InOrder(attributes) {
		p.conceal.names[a.Name] = true
		v := p.variables[a.Name]
		if v == nil {
			diag := diagnostic.Error(a.NameRange, fmt.Sprintf("the job file does not declare a variable %q", a.Name), "", p.declare(a.Name))
			diag.Severity = p.undeclared()
			diags = append(diags, diag)
			continue
		}
		value, moreDiags := p.scope.Strict(a.Expr, nil)
		if diags = append(diags, explainConstant(moreDiags, "a value for a variable")...); moreDiags.HasErrors() {
			v.broken = true
			continue
		}
		diags = append(diags, p.setOutside(v, value, "value from "+file.name, a.Expr.Range())...)
	}
	return diags
}
