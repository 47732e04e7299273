package jobspec

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/decode"
	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/syntax"
)

// variablePrefix is the prefix of environment variables that set variables.
const variablePrefix = "NOMAD_VAR_"

// setVariables sets the variables, in order of increasing precedence: stubs,
// NOMAD_VAR_* of the environment, files, --var. It defines them for expressions
// as var.
func (p *parser) setVariables(files []varFile) {
	p.setFromValues()
	for _, entry := range p.opts.Environ {
		name, text, ok := strings.Cut(strings.TrimPrefix(entry, variablePrefix), "=")
		if v := p.variables[name]; ok && v != nil && strings.HasPrefix(entry, variablePrefix) {
			p.conceal.keep(variablePrefix + name)
			p.setFromText(v, text, "value from the environment", variablePrefix+name, p.setOutside)
		}
	}
	for _, file := range files {
		p.setFromFile(file)
	}
	p.setFromArguments()

	values := make(map[string]cty.Value, len(p.variables))
	for _, v := range p.variables.inOrder() {
		values[v.name] = unknown
		switch {
		case v.placeholder != "" && !p.opts.Placeholders:
			p.refuse(v.at, fmt.Sprintf("stub %q is not filled in", v.placeholder),
				fmt.Sprintf("variable %q needs a value", v.name), fmt.Sprintf("replace TODO(…) with the value, or pass --var %s=VALUE", v.name))
		case v.broken:
		case v.value != cty.NilVal:
			p.validate(v)
			values[v.name] = v.value
		case p.opts.Outline:
			p.file.Unset = append(p.file.Unset, v.unset())
		default:
			p.refuse(v.declared, fmt.Sprintf("variable %q has no value", v.name), "",
				fmt.Sprintf("give it a default, or pass --var %s=VALUE, --var-file FILE, or %s%s", v.name, variablePrefix, v.name))
		}
	}
	p.scope.Define("var", cty.ObjectVal(values))
}

func (v *variable) unset() Unset {
	u := Unset{Name: v.name, Type: "any", At: RangeOf(v.declared)}
	if v.typ != cty.NilType {
		u.Type = typeexpr.TypeString(v.typ)
	}
	u.Samples = v.samples()
	return u
}

// setFromValues sets the variables that have a value among the stubs.
func (p *parser) setFromValues() {
	for _, name := range slices.Sorted(maps.Keys(p.opts.Values)) {
		value := p.opts.Values[name]
		if value.Value.IsNull() {
			continue // a value to fill in
		}
		if v := p.variables[name]; v != nil {
			p.conceal.keep(value.At.File)
			if value.Placeholder != "" {
				if p.set(v, value.Value, "placeholder", value.At.hcl()); !v.broken {
					v.placeholder = value.Placeholder
				}
				continue
			}
			p.setOutside(v, value.Value, "value from "+value.At.File, value.At.hcl())
			continue
		}
		if remedy := diagnostic.DidYouMean(name, fewNames(p.variables)); remedy != "" {
			p.warn(value.At.hcl(), fmt.Sprintf("the job file does not declare a variable %q", name), "", remedy)
		}
	}
}

func (p *parser) setFromFile(file varFile) {
	if declarations, _, _ := file.body.PartialContent(&hcl.BodySchema{
		Blocks: []hcl.BlockHeaderSchema{{Type: "variable", LabelNames: []string{"name"}}},
	}); len(declarations.Blocks) > 0 {
		for _, block := range declarations.Blocks {
			p.refuse(block.TypeRange, "a file of values cannot declare variables", "",
				fmt.Sprintf("to set the variable, write %s = VALUE", block.Labels[0]))
		}
		return
	}
	attributes, diags := file.body.JustAttributes()
	p.report(diags...)
	for _, a := range decode.InOrder(attributes) {
		p.conceal.names[a.Name] = true
		v := p.variables[a.Name]
		if v == nil {
			p.undeclared(a.Name, a.NameRange)
			continue
		}
		value, ok := p.constant(a.Expr, "a value for a variable")
		if !ok {
			v.broken = true
			continue
		}
		p.setOutside(v, value, "value from "+file.name, a.Expr.Range())
	}
}

func (p *parser) setFromArguments() {
	last := map[string]string{}
	var order []string
	for _, argument := range p.opts.Vars {
		name, text, ok := strings.Cut(argument, "=")
		if !ok {
			shown, remedy := argument, fmt.Sprintf("write --var %s=VALUE", argument)
			if p.opts.SecretVars {
				p.conceal.keep("--var")
				shown, remedy = hidden, "write NAME=VALUE"
			}
			p.warn(p.textRange("--var", argument), fmt.Sprintf("--var %s sets nothing", shown), "", remedy)
			continue
		}
		if _, again := last[name]; !again {
			order = append(order, name)
		}
		last[name] = text
	}
	set := p.set
	if p.opts.SecretVars {
		set = p.setOutside
	}
	for _, name := range order {
		if p.opts.SecretVars {
			p.conceal.keep("--var " + name)
		}
		v := p.variables[name]
		if v == nil {
			p.undeclared(name, p.textRange("--var "+name, last[name]))
			continue
		}
		p.setFromText(v, last[name], "value from --var", "--var "+name, set)
	}
}

func (p *parser) undeclared(name string, at hcl.Range) {
	diag := diagnostic.Error(at, fmt.Sprintf("the job file does not declare a variable %q", name), "",
		cmp.Or(diagnostic.DidYouMean(name, fewNames(p.variables)), fmt.Sprintf(`declare it: variable "%s" {}`, name)))
	if p.opts.IgnoreUndeclared {
		diag.Severity = hcl.DiagWarning
	}
	p.report(diag)
}

// setFromText sets a variable from a text of the shell. Strings and numbers are
// taken literally, values of all other types as expressions.
func (p *parser) setFromText(v *variable, text, origin, source string, set func(*variable, cty.Value, string, hcl.Range)) {
	at := p.textRange(source, text)
	if v.broken && v.value == cty.NilVal {
		return // its type is unknown
	}
	switch v.typ {
	case cty.String, cty.Number, cty.NilType:
		set(v, cty.StringVal(text), origin, at)
		return
	}
	expr, diags := syntax.Expression([]byte(text), at.Filename)
	if diags.HasErrors() {
		p.report(diags...)
		v.broken = true
		return
	}
	value, ok := p.constant(expr, "a value for a variable")
	if !ok {
		v.broken = true
		return
	}
	set(v, value, origin, expr.Range())
}

// setOutside sets a variable to a value that may be secret and must not appear
// in messages: one of a stub, the environment or a file of values. Arguments of
// this command are public: every user of the machine can read them.
func (p *parser) setOutside(v *variable, value cty.Value, origin string, at hcl.Range) {
	p.conceal.add(value)
	p.scope.Conceal("var", v.name)
	diags := v.set(value, origin, at)
	if len(diags) == 0 {
		p.conceal.add(v.value) // in the variable's type
	}
	for _, diag := range diags {
		diag.Detail = fmt.Sprintf("the type is %s; %s", typeexpr.TypeString(v.typ), whyHidden)
	}
	p.report(diags...)
}

// textRange registers a text of the shell as a source, and returns its range.
func (p *parser) textRange(source, text string) hcl.Range {
	p.file.Sources[source] = []byte(text)
	return hcl.Range{
		Filename: source,
		Start:    hcl.Pos{Line: 1, Column: 1},
		End:      hcl.Pos{Line: 1, Column: 1 + len([]rune(text)), Byte: len(text)},
	}
}

// A varFile is a parsed file of variable values.
type varFile struct {
	name string
	body hcl.Body
}

func (p *parser) readVarFiles() (files []varFile) {
	var sources []Source
	for _, path := range p.opts.VarFiles {
		text, err := readPath(path)
		if err != nil {
			diag := &hcl.Diagnostic{
				Severity: hcl.DiagError,
				Summary:  fmt.Sprintf("cannot read the file of values %q: %v", path, err),
			}
			if known, ok := errors.AsType[Diagnostic](err); ok {
				diagnostic.SetRemedy(diag, known.Remedy)
			}
			p.report(diag)
			continue
		}
		sources = append(sources, Source{path, text})
	}
	for _, src := range append(sources, p.opts.VarTexts...) {
		p.file.Sources[src.Name] = src.Text
		p.conceal.keep(src.Name)
		body, diags := syntax.Parse(src.Text, src.Name)
		p.report(diags...)
		files = append(files, varFile{src.Name, body})
	}
	return files
}
