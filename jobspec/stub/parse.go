package stub

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"taskrun/jobspec"
	"taskrun/jobspec/decode"
	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/evaluate"
	"taskrun/jobspec/syntax"
)

const maxFile = 16 << 20

// Find returns the path of the stubs file beside a job file, or "".
func Find(jobFile string) string {
	path := filepath.Join(filepath.Dir(jobFile), DefaultName)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

// Read reads a stubs file.
func Read(path string) (*Set, jobspec.Diagnostics) {
	info, err := os.Stat(path)
	var text []byte
	switch {
	case err != nil:
	case info.Size() > maxFile:
		err = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	default:
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, jobspec.Diagnostics{{Summary: fmt.Sprintf("cannot read the stubs file %q: %v", path, diagnostic.Bare(err))}}
	}
	return Parse(path, text)
}

// Parse parses the text of a stubs file; functions find files relative to the
// folder of name. Without errors the Set is not nil. Diagnostics never show a
// value.
func Parse(name string, text []byte) (*Set, jobspec.Diagnostics) {
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return nil, jobspec.Diagnostics{{Summary: fmt.Sprintf("cannot find the folder of the stubs file %q: %v", name, err)}}
	}
	body, diags := syntax.Parse(text, name)
	if diags.HasErrors() {
		return nil, jobspec.DiagnosticsOf(diags, nil)
	}
	p := &parser{dir: dir, set: None()}
	p.set.File = name
	native, isNative := body.(*hclsyntax.Body)
	p.scope = evaluate.NewScope(p.functions(isNative), map[string][]byte{name: text})
	if isNative {
		p.todos(native)
	}
	var file fileForm
	decoder := &decode.Decoder{Scope: p.scope, Static: true}
	p.diags = append(diags, decoder.Decode("a stubs file", hcl.Range{}, body, &file, decode.Nowhere{})...)
	p.read(&file)
	if isNative { // in JSON the end of a block is unknown
		p.refuseReferences(native)
	}
	for _, diag := range p.diags {
		hideValues(diag)
		p.advise(diag)
	}
	diagnostics := jobspec.DiagnosticsOf(p.diags, p.scope)
	if diagnostics.HasErrors() {
		return nil, diagnostics
	}
	return p.set, diagnostics
}

// advise adds a remedy to a diagnostic that has none.
func (p *parser) advise(diag *hcl.Diagnostic) {
	if diagnostic.Remedy(diag) != "" || diag.Subject == nil {
		return
	}
	if strings.HasSuffix(diag.Summary, " in a stubs file") {
		diagnostic.SetRemedy(diag, `its blocks are in "taskrun help stubs"`)
	}
	if t, ok := p.todoIn(*diag.Subject); ok && t.At == jobspec.RangeOf(*diag.Subject) && diag.Detail != "" {
		diag.Detail = "the value of a placeholder must be of the same type"
		diagnostic.SetRemedy(diag, fmt.Sprintf("write TODO(%q, VALUE) with a value for rehearsals", t.Name))
	}
}

// hideValues removes everything that could be a secret from a diagnostic.
func hideValues(diag *hcl.Diagnostic) {
	diag.Expression, diag.EvalContext = nil, nil
	call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](diag)
	if !ok {
		return
	}
	switch name := call.CalledFunctionName(); {
	case name == todoName, name == "env": // their errors are about names
		if err := call.FunctionCallError(); err != nil {
			diag.Summary, diag.Detail = err.Error(), ""
		}
	case !strings.HasPrefix(name, "file"): // their errors are about paths
		diag.Summary, diag.Detail = fmt.Sprintf("function %q cannot work with this", name), ""
	}
}

func (p *parser) read(file *fileForm) {
	s := p.set
	for _, body := range file.Values {
		p.values(body.Body)
	}
	s.variables = map[variableKey]map[string]string{}
	for _, f := range file.Variables {
		key := keyOf(f.Label)
		if s.variables[key] != nil {
			p.twice(f.Block, "nomad_variable", f.Label)
		}
		s.variables[key] = p.texts(f.Body)
	}
	s.keys = map[string]string{}
	for _, f := range file.Keys {
		key := strings.TrimPrefix(f.Key, "/")
		if _, again := s.keys[key]; again {
			p.twice(f.Block, "consul_key", f.Key)
		}
		if f.Value != nil { // a missing value was reported
			s.keys[key] = p.text(f.Value)
		}
	}
	s.secrets = map[string]map[string]any{}
	for _, f := range file.Secrets {
		path := strings.Trim(f.Label, "/")
		if s.secrets[path] != nil {
			p.twice(f.Block, "vault_secret", f.Label)
		}
		s.secrets[path] = p.data(f.Body)
	}
	p.services(file.Services)
	p.volumes(file.HostVolumes)
	if file.Node != nil {
		s.Node = *file.Node
	}
	if file.Vault != nil {
		s.VaultToken = cmp.Or(file.Vault.Token, localToken)
	}
	if file.Consul != nil {
		s.ConsulToken = cmp.Or(file.Consul.Token, localToken)
	}
	p.artifacts(file.Artifacts)
	p.groups(file.Groups)
	p.tasks(file.Tasks)
}

// refuseReferences reports references outside of group and task blocks, where no values
// are known.
func (p *parser) refuseReferences(native *hclsyntax.Body) {
	for _, ref := range p.scope.Deferred() {
		inTask := slices.ContainsFunc(native.Blocks, func(b *hclsyntax.Block) bool {
			return (b.Type == "task" || b.Type == "group") && b.Range().ContainsPos(ref.Range.Start)
		})
		if !inTask {
			// A value of the wrong type is no second mistake.
			p.diags = slices.DeleteFunc(p.diags, func(d *hcl.Diagnostic) bool { return d.Subject != nil && *d.Subject == ref.Range })
			p.refuse(ref.Range, noReferences, fmt.Sprintf("%s is not known here", ref.Text), instead)
		}
	}
}
