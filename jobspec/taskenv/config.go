package taskenv

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcldec"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
)

// DecodeConfig evaluates the config block of a task against the schema of its
// driver. Strings are HCL templates: variables by name, any of them as
// env["name"], node.*, attr.*, meta.*, secret.*, a few functions, and
// directives; "$${" is a literal "${". The error is a *ConfigError.
// See https://developer.hashicorp.com/nomad/docs/job-specification/hcl2.
func (e *Env) DecodeConfig(config map[string]any, schema hcldec.Spec) (cty.Value, error) {
	text, err := json.Marshal(normalBody(config, schema))
	if err != nil {
		return cty.NilVal, &ConfigError{Diagnostics: []ConfigDiagnostic{{Summary: "Unusable value", Detail: err.Error()}}}
	}
	file, diags := hcljson.Parse(text, "config")
	if diags.HasErrors() {
		return cty.NilVal, configError(nil, diags)
	}
	value, diags := e.decode(file.Body, schema, isTemplate(text))
	if diags.HasErrors() {
		return cty.NilVal, configError(file.Body, diags)
	}
	return value, nil
}

// decode evaluates body with only the names that it uses, because most of the
// work is providing them. If that fails, it tries again with all names, so that
// HCL can suggest the right one.
func (e *Env) decode(body hcl.Body, schema hcldec.Spec, template bool) (cty.Value, hcl.Diagnostics) {
	if !template {
		return hcldec.Decode(body, schema, nil)
	}
	value, diags := hcldec.Decode(body, schema, e.evalContext(usedNames(hcldec.Variables(body, schema))))
	if diags.HasErrors() {
		return hcldec.Decode(body, schema, e.evalContext(allNames))
	}
	return value, diags
}

// isTemplate reports whether JSON text contains strings that HCL would
// evaluate.
func isTemplate(text []byte) bool {
	return bytes.Contains(text, []byte("${")) || bytes.Contains(text, []byte("%{"))
}

// ConfigError contains all errors in the config block of a task.
type ConfigError struct {
	Diagnostics []ConfigDiagnostic // at least one, in the order of the options
}

// ConfigDiagnostic is one error in a config block, in the words of HCL.
type ConfigDiagnostic struct {
	Option  string // at the top of the block; may be empty
	Summary string // e.g. "Unknown variable"
	Detail  string // one or more sentences
}

// Error returns the errors in one line.
func (e *ConfigError) Error() string {
	texts := make([]string, len(e.Diagnostics))
	for i, f := range e.Diagnostics {
		texts[i] = strings.TrimSuffix(f.String(), ".")
		if f.Option != "" && !strings.Contains(f.Detail, strconv.Quote(f.Option)) {
			texts[i] = f.Option + ": " + texts[i]
		}
	}
	return "failed to parse config: " + strings.Join(texts, "; ")
}

// String returns the error as Nomad words it, without the option.
func (f ConfigDiagnostic) String() string { return f.Summary + ": " + f.Detail }

// configError sorts the errors, which HCL reports in random order, by position,
// and names their options.
func configError(body hcl.Body, diags hcl.Diagnostics) *ConfigError {
	slices.SortFunc(diags, func(a, b *hcl.Diagnostic) int {
		return cmp.Or(cmp.Compare(offset(a), offset(b)), cmp.Compare(a.Detail, b.Detail))
	})
	e := &ConfigError{}
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		f := ConfigDiagnostic{Option: optionAt(body, d), Summary: d.Summary, Detail: oneLine(d.Detail)}
		if f.Summary == "Extraneous JSON object property" {
			f.Summary = "Invalid label" // Nomad's words; the JSON is internal
		}
		if !slices.Contains(e.Diagnostics, f) {
			e.Diagnostics = append(e.Diagnostics, f)
		}
	}
	return e
}

func offset(d *hcl.Diagnostic) int {
	if d.Subject == nil {
		return -1
	}
	return d.Subject.Start.Byte
}

func optionAt(body hcl.Body, d *hcl.Diagnostic) string {
	if body == nil || d.Subject == nil {
		return ""
	}
	options, _ := body.JustAttributes()
	for name, option := range options {
		if r := option.Range; r.Start.Byte <= offset(d) && offset(d) < r.End.Byte {
			return name
		}
	}
	return ""
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
