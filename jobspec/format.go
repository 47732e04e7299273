package jobspec

import (
	"github.com/hashicorp/hcl/v2/hclwrite"

	"taskrun/jobspec/syntax"
)

// Format returns a text in the canonical style of HCL, like `nomad fmt`: a job
// file, a file of variables, or the config of an agent. The meaning does not
// change, except for spaces in references that only a running task can resolve:
// "${ NOMAD_TASK_DIR }", which Nomad resolves in some places only, becomes
// "${NOMAD_TASK_DIR}", which it resolves everywhere. A text with errors, or in
// JSON, is not formatted.
func Format(src Source) ([]byte, Diagnostics) {
	if syntax.IsJSON(src.Text) {
		return nil, Diagnostics{{
			Summary: "cannot format JSON",
			Remedy:  "format it with a tool for JSON, such as jq",
			Range:   Range{File: src.Name, Start: Pos{Line: 1, Column: 1}, End: Pos{Line: 1, Column: 1}},
		}}
	}
	if _, diags := syntax.Parse(src.Text, src.Name); diags.HasErrors() {
		p := &parser{src: src, file: &File{Sources: map[string][]byte{src.Name: src.Text}}}
		return nil, p.diagnostics(diags)
	}
	return hclwrite.Format(src.Text), nil
}
