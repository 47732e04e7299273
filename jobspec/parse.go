package jobspec

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/nomad/api"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/decode"
	"taskrun/jobspec/evaluate"
	"taskrun/jobspec/function"
	"taskrun/jobspec/syntax"
)

// Parse reads a job file in HCL's native syntax, in HCL's JSON syntax, or as
// the JSON of Nomad's HTTP API. It reports as many errors as possible at once.
// The file is never nil.
func Parse(src Source, opts Options) (*File, Diagnostics) {
	p := &parser{
		opts: opts,
		src:  src,
		file: &File{Positions: Positions{}, Sources: map[string][]byte{src.Name: src.Text}},
	}
	p.conceal.text, p.conceal.names = string(src.Text), map[string]bool{}
	if syntax.IsAPI(src.Text) {
		p.parseAPI()
		p.incomplete = p.diags.HasErrors()
	} else {
		p.parseHCL()
	}
	diagnostics := p.diagnostics(p.diags)
	if !p.incomplete {
		p.file.Draft = p.file.Job
	}
	if diagnostics.HasErrors() {
		p.file.Job = nil
	}
	p.file.conceal, p.file.Secret = p.conceal, p.conceal.files
	for _, v := range p.variables {
		if v.at.Filename != src.Name && v.value != cty.NilVal {
			p.file.given.add(v.value)
		}
	}
	return p.file, diagnostics
}

func (p *parser) parseHCL() {
	body, diags := syntax.Parse(p.src.Text, p.src.Name)
	p.report(diags...)
	varFiles := p.readVarFiles()
	if p.diags.HasErrors() {
		return // further diagnostics of half a file would mislead
	}
	functions := function.TableNoting(p.opts.BaseDir, p.file.note)
	if p.opts.NoFiles {
		functions = function.TableWithoutFiles()
	}
	p.scope = evaluate.NewScope(functions, p.file.Sources)

	var file fileForm
	decoder := &decode.Decoder{Scope: p.scope, Static: true}
	p.report(decoder.Decode("a job file", hcl.Range{}, body, &file, decode.Nowhere{})...)
	p.declareVariables(&file)
	p.setVariables(varFiles)
	p.evaluateLocals(&file)

	for i, job := range file.Jobs {
		if i == 0 {
			p.decodeJob(job)
			continue
		}
		p.refuse(job.Block.Header, "a file holds one job",
			fmt.Sprintf("the first is %q", file.Jobs[0].Label), "move this job to a file of its own")
	}
	if len(file.Jobs) == 0 && !p.diags.HasErrors() {
		p.noJob()
	}
	p.report(hiddenCalls(p.scope)...)
}

// noJob points at the end of the file.
func (p *parser) noJob() {
	end := len(bytes.TrimRight(p.src.Text, " \t\r\n"))
	if end == 0 {
		p.refuse(p.offsets(0, 0), "this file is empty", "", `write job "name" { … }`)
		return
	}
	p.refuse(p.offsets(end, end), "there is no job in this file", "", `add job "name" { … }`)
}

func (p *parser) decodeJob(block *jobBlock) {
	forms := &forms{groups: map[*api.TaskGroup]*groupForm{}}
	decoder := &decode.Decoder{Scope: p.scope, Form: forms.of}
	atlas := newAtlas(p.src.Text)
	root := place{atlas: atlas, path: Root}
	root.note(Root, block.Block.Header)

	job := &api.Job{}
	p.report(decoder.Decode("job", block.Block.Header, block.Body, job, root)...)
	p.report(normalize(block.Label, forms, atlas)...)
	p.file.Job, p.file.Positions = job, atlas.positions
	p.file.lost, p.incomplete = atlas.lost, decoder.Incomplete || len(atlas.lost) > maxLost
	if slices.Contains(atlas.lost, Root.Attr("type")) {
		job.Type = new("") // disables the rules for a specific type
	}
	p.suspectReferences(job)
}
