package jobspec

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/nomad/api"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/decode"
	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/evaluate"
	"taskrun/jobspec/function"
	"taskrun/jobspec/syntax"
)

// Options are what a job file is parsed with.
type Options struct {
	Vars     []string // NAME=VALUE as given with --var, in order
	VarFiles []string // paths, in order
	Environ  []string // K=V; the NOMAD_VAR_* among them set variables
	BaseDir  string   // relative paths in file functions; "" is the current directory

	// VarTexts are the contents of more files of values, after VarFiles.
	VarTexts []Source

	// NoFiles makes functions that read files fail, for untrusted texts.
	NoFiles bool

	// Values set the variables that nothing else sets. Names that the file does
	// not declare are ignored, since one set serves many files.
	Values map[string]VariableValue

	// Outline allows variables without a value: whatever depends on them is left
	// out of the job, and they are in File.Unset.
	Outline bool

	// IgnoreUndeclared makes values for variables that the file does not
	// declare a warning, as Nomad's -hcl2-strict=false does.
	IgnoreUndeclared bool
}

// Unset is a variable without a value.
type Unset struct {
	Name string
	Type string // as in the job file; "any" without one
	At   Range
}

// VariableValue is the value of a variable, and where it stands.
type VariableValue struct {
	Value cty.Value
	At    Range
}

// File is a parsed job file.
type File struct {
	// Job is what `nomad job run -output` prints: normalized, but without the
	// defaults that Job.Canonicalize adds. Nil when there were errors.
	Job *api.Job
	// Draft is Job or, after errors that leave its blocks in place, the job as
	// far as it could be read. See Sure.
	Draft *api.Job
	// Positions are the places of all blocks and attributes of the job.
	Positions Positions
	// Sources are the texts that diagnostics may point into, by name. They are
	// there also when there were errors.
	Sources map[string][]byte
	// Secret are the sources that hold values of variables, of which no line may
	// be shown.
	Secret map[string]bool
	// Unset are the variables without a value, when Options.Outline is set.
	Unset []Unset

	lost      []Path // in Draft: values that are invalid or missing
	conceal   concealment
	concealed []Path // of values that are; nil until asked for
}

// Sure returns the diagnostics of a draft that do not follow from a lost value.
func (f *File) Sure(diagnostics Diagnostics) Diagnostics {
	if len(f.lost) == 0 {
		return diagnostics
	}
	return slices.DeleteFunc(diagnostics, func(p Diagnostic) bool {
		return slices.ContainsFunc(f.lost, func(lost Path) bool {
			block := lost.Parent()
			if slices.Contains([]string{"job", "group", "task", "config", "env", "meta"}, block.Name()) {
				return p.Path == block || p.Path.in(lost)
			}
			if block.Name() == "identity" { // the default one is set apart later
				block = block.Parent().Attr("identity")
			}
			if block.Name() == "volume" && p.Path.Parent().Name() == "volume_mount" {
				return p.Path.in(block.Parent()) // whether a volume can be mounted depends on it
			}
			return p.Path.in(block) // rules relate the values of small blocks to each other
		})
	})
}

// Parse reads a job file in HCL's native syntax, in HCL's JSON syntax, or as
// the JSON of Nomad's HTTP API. It reports as many errors as it can at once. The
// file is never nil.
func Parse(src Source, opts Options) (*File, Diagnostics) {
	p := &parser{
		opts: opts,
		src:  src,
		file: &File{Positions: Positions{}, Sources: map[string][]byte{src.Name: src.Text}},
	}
	p.conceal.text, p.conceal.names = string(src.Text), map[string]bool{}
	var diagnostics Diagnostics
	if syntax.IsAPI(src.Text) {
		diagnostics = p.diagnostics(p.parseAPI())
		p.incomplete = diagnostics.HasErrors()
	} else {
		diagnostics = p.diagnostics(p.parseHCL())
	}
	if !p.incomplete {
		p.file.Draft = p.file.Job
	}
	if diagnostics.HasErrors() {
		p.file.Job = nil
	}
	p.file.conceal, p.file.Secret = p.conceal, p.conceal.files
	return p.file, diagnostics
}

// A parser holds the state of one call of Parse.
type parser struct {
	opts      Options
	src       Source
	file      *File
	scope     *evaluate.Scope
	variables variables
	// incomplete: blocks are missing in the job, or more.
	incomplete bool
	locals     locals
	conceal    concealment
	path       []string // locals being evaluated, each for the one before it
	looked     int      // references between locals that were followed
}

// unknown is the value of a variable whose value is invalid or missing: whatever
// depends on it is not reported again.
var unknown = cty.DynamicVal

func (p *parser) parseHCL() hcl.Diagnostics {
	body, diags := syntax.Parse(p.src.Text, p.src.Name)
	varFiles, moreDiags := p.readVarFiles()
	if diags = append(diags, moreDiags...); diags.HasErrors() {
		return diags // more diagnostics of half a file would mislead
	}
	functions := function.Table(p.opts.BaseDir)
	if p.opts.NoFiles {
		functions = function.TableWithoutFiles()
	}
	p.scope = evaluate.NewScope(functions, p.file.Sources)

	var file fileForm
	decoder := &decode.Decoder{Scope: p.scope, Static: true}
	diags = append(diags, decoder.Decode("a job file", hcl.Range{}, body, &file, decode.Nowhere{})...)
	diags = append(diags, p.declareVariables(&file)...)
	diags = append(diags, p.setVariables(varFiles)...)
	diags = append(diags, p.evaluateLocals(&file)...)

	for i, job := range file.Jobs {
		if i == 0 {
			diags = append(diags, p.decodeJob(job)...)
			continue
		}
		diags = append(diags, diagnostic.Error(job.Block.Header, "a file holds one job",
			fmt.Sprintf("the first is %q", file.Jobs[0].Label), "move this job to a file of its own"))
	}
	if len(file.Jobs) == 0 && !diags.HasErrors() {
		diags = append(diags, p.noJob())
	}
	return diags
}

// noJob points at the end of the file.
func (p *parser) noJob() *hcl.Diagnostic {
	end := len(bytes.TrimRight(p.src.Text, " \t\r\n"))
	if end == 0 {
		return diagnostic.Error(p.offsets(0, 0), "this file is empty", "", `write job "name" { … }`)
	}
	return diagnostic.Error(p.offsets(end, end), "there is no job in this file", "", `add job "name" { … }`)
}

func (p *parser) decodeJob(block *jobBlock) hcl.Diagnostics {
	forms := &forms{groups: map[*api.TaskGroup]*groupForm{}}
	decoder := &decode.Decoder{Scope: p.scope, Form: forms.of}
	atlas := newAtlas(p.src.Text)
	root := place{atlas: atlas, path: Root}
	root.note(Root, block.Block.Header)

	job := &api.Job{}
	diags := decoder.Decode("job", block.Block.Header, block.Body, job, root)
	diags = append(diags, normalize(block.Label, forms, atlas)...)
	p.file.Job, p.file.Positions = job, atlas.positions
	p.file.lost, p.incomplete = atlas.lost, decoder.Incomplete || len(atlas.lost) > maxLost
	if slices.Contains(atlas.lost, Root.Attr("type")) {
		job.Type = new("") // no rule for jobs of another type speaks
	}
	return append(diags, p.suspectReferences(job)...)
}
