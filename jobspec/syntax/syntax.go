// Package syntax parses the text of a job file or of a file of variables to an
// HCL body, in either syntax, and refuses text that is designed to exhaust the
// machine.
package syntax

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
)

// Parse parses a text in HCL's native syntax or, if it starts with a brace, in
// HCL's JSON syntax. The body is never nil, and contains the readable part even
// after errors.
func Parse(text []byte, name string) (hcl.Body, hcl.Diagnostics) {
	if IsJSON(text) {
		return parseJSON(text, name)
	}
	if diags := checkNative(text, name); diags.HasErrors() {
		return hcl.EmptyBody(), diags
	}
	file, diags := hclsyntax.ParseConfig(text, name, start)
	diags = explain(diags, text, name)
	if file == nil {
		return hcl.EmptyBody(), diags
	}
	return file.Body, diags
}

// Expression parses one expression, such as a value given with --var.
func Expression(text []byte, name string) (hclsyntax.Expression, hcl.Diagnostics) {
	if diags := checkNative(text, name); diags.HasErrors() {
		return nil, diags
	}
	return hclsyntax.ParseExpression(text, name, start)
}

// Template parses a string of HCL's JSON syntax, which may contain ${…} and
// %{…}; at is the position of its first character in the file.
func Template(text, name string, at hcl.Pos) (hclsyntax.Expression, hcl.Diagnostics) {
	if diags := check([]byte(text), name, hclsyntax.LexTemplate, []level{{}}); diags.HasErrors() {
		return nil, diags
	}
	return hclsyntax.ParseTemplate([]byte(text), name, at)
}

func parseJSON(text []byte, name string) (hcl.Body, hcl.Diagnostics) {
	if diags := checkJSON(text, name); diags.HasErrors() {
		return hcl.EmptyBody(), diags
	}
	// The parser does not know the byte order mark; spaces in its place keep
	// all offsets.
	if bytes.HasPrefix(text, byteOrderMark) {
		text = append([]byte("   "), text[len(byteOrderMark):]...)
	}
	file, diags := json.Parse(text, name)
	diags = explainJSON(diags, text, name)
	if file == nil {
		return hcl.EmptyBody(), diags
	}
	return file.Body, diags
}
