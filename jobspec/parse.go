package jobspec

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/nomad/api"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/decode"
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

	// IgnoreUndeclared makes values for variables that the file does not
	// declare a warning, as Nomad's -hcl2-strict=false does.
	IgnoreUndeclared bool
}

// File is a parsed job file.
type File struct {
	// Job is what `nomad job run -output` prints: normalised, but without the
	// defaults that Job.Canonicalize adds. Nil when there were errors.
	Job *api.Job
	// Positions are the places of all blocks and attributes of the job.
	Positions Positions
	// Sources are the texts that problems may point into, by name. They are
	// there also when there were errors.
	Sources map[string][]byte
}

// Parse reads a job file in HCL's native syntax, in HCL's JSON syntax, or as
// the JSON of Nomad's HTTP API. It finds all faults it can in one go. The file
// is never nil.
func Parse(src Source, opts Options) (*File, Problems) {
	p := &parser{
		opts: opts,
		file: &File{Positions: Positions{}, Sources: map[string][]byte{src.Name: src.Text}},
	}
	if syntax.IsAPI(src.Text) {
		return p.file, p.parseAPI(src)
	}
	diags := p.parseHCL(src)
	problems := p.problems(diags)
	if problems.HasErrors() {
		p.file.Job = nil
	}
	return p.file, problems
}

// A parser holds what belongs to one call of Parse.
type parser struct {
	opts      Options
	file      *File
	scope     *evaluate.Scope
	variables variables
	locals    locals
}

// topLevel are the blocks of a job file.
func topLevel() *hcl.BodySchema {
	return &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "variable", LabelNames: []string{"name"}},
		{Type: "variables"},
		{Type: "locals"},
		{Type: "job", LabelNames: []string{"name"}},
	}}
}

func (p *parser) parseHCL(src Source) hcl.Diagnostics {
	body, diags := syntax.Parse(src.Text, src.Name)
	varFiles, moreDiags := p.readVarFiles()
	if diags = append(diags, moreDiags...); diags.HasErrors() {
		return diags // what is read from half a file would be noise
	}
	content, moreDiags := body.Content(topLevel())
	diags = append(diags, moreDiags...)

	p.scope = evaluate.NewScope(function.Table(p.opts.BaseDir), p.file.Sources)
	diags = append(diags, p.declareVariables(content)...)
	diags = append(diags, p.setVariables(varFiles)...)
	diags = append(diags, p.evaluateLocals(content)...)

	job, moreDiags := p.jobBlock(content, body)
	diags = append(diags, moreDiags...)
	if job != nil {
		diags = append(diags, p.decodeJob(job, src)...)
	}
	return diags
}

// jobBlock returns the one job block.
func (p *parser) jobBlock(content *hcl.BodyContent, body hcl.Body) (*hcl.Block, hcl.Diagnostics) {
	var job *hcl.Block
	var diags hcl.Diagnostics
	for _, block := range content.Blocks {
		if block.Type != "job" {
			continue
		}
		if job != nil {
			diags = append(diags, problem(block.DefRange, "a file holds one job", "The first is "+quote(job.Labels[0])+".", "move this job to a file of its own"))
			continue
		}
		job = block
	}
	if job == nil && !diags.HasErrors() {
		diags = append(diags, problem(body.MissingItemRange(), "there is no job in this file", "", `write job "name" { … }`))
	}
	return job, diags
}

func (p *parser) decodeJob(block *hcl.Block, src Source) hcl.Diagnostics {
	forms := &forms{groups: map[*api.TaskGroup]*groupForm{}}
	decoder := &decode.Decoder{Scope: p.scope, Form: forms.of}
	atlas := newAtlas(src.Text)
	root := place{atlas: atlas, path: Root}
	header := block.DefRange
	if len(block.LabelRanges) > 0 {
		header = hcl.RangeBetween(block.TypeRange, block.LabelRanges[0])
	}
	root.note(Root, header)

	job := &api.Job{}
	diags := decoder.Decode("job", header, block.Body, job, root)
	p.file.Job, p.file.Positions = job, atlas.positions
	if !diags.HasErrors() {
		diags = append(diags, normalize(block.Labels[0], forms, atlas)...)
	}
	return append(diags, p.suspectReferences(job)...)
}

// unknown stands for the value of a variable that could not be had: whatever
// depends on it is not reported again.
var unknown = cty.DynamicVal
