package jobspec

import (
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/syntax"
)

// A varFile is a parsed file of variable values.
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
