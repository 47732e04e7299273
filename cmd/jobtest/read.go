package jobtest

import (
	"errors"
	"fmt"
	"io"
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
	"taskrun/jobspec/function"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/syntax"
)

// Suffix ends the name of every test file.
const Suffix = ".nomadtest.hcl"

// maxFile is how large a test file may be, in bytes.
const maxFile = 1 << 20

// Read reads a test file. Paths in it are relative to its folder. The file is
// never nil.
func Read(path string) (*File, jobspec.Diagnostics) {
	text, err := readText(path)
	if err != nil {
		known, ok := errors.AsType[jobspec.Diagnostic](err)
		if !ok {
			known.Summary = err.Error()
		}
		known.Summary = fmt.Sprintf("cannot read the test file %q: %s", path, known.Summary)
		return &File{Path: path}, jobspec.Diagnostics{known}
	}
	return parse(path, text)
}

func readText(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, diagnostic.Bare(err)
	case info.IsDir():
		return nil, jobspec.Diagnostic{Summary: "it is a directory", Remedy: "name a file in it"}
	case !info.Mode().IsRegular():
		return nil, jobspec.Diagnostic{Summary: "it is not a regular file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, diagnostic.Bare(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, diagnostic.Bare(err)
	case len(text) > maxFile:
		return nil, jobspec.Diagnostic{Summary: fmt.Sprintf("it is larger than %d MiB", maxFile>>20), Remedy: "split it: a job may have several test files"}
	case strings.TrimSpace(string(text)) == "":
		return nil, jobspec.Diagnostic{Summary: "it is empty", Remedy: `write run "name" { … }`}
	case syntax.IsJSON(text):
		return nil, jobspec.Diagnostic{Summary: "it is JSON", Remedy: "write it in HCL"}
	}
	return text, nil
}

func parse(path string, text []byte) (*File, jobspec.Diagnostics) {
	r := &reader{file: &File{Path: path, Text: text}}
	body, diags := syntax.Parse(text, path)
	if diags.HasErrors() {
		return r.file, jobspec.DiagnosticsOf(diags, nil)
	}
	r.scope = evaluate.NewScope(function.Table(r.file.dir()), map[string][]byte{path: text})
	var form fileForm
	decoder := &decode.Decoder{Scope: r.scope, Static: true}
	r.diags = append(diags, decoder.Decode("a test file", hcl.Range{}, body, &form, decode.Nowhere{})...)
	r.read(&form)
	r.refuseReferences(body)
	return r.file, jobspec.DiagnosticsOf(r.diags, r.scope)
}

func (r *reader) read(form *fileForm) {
	f := r.file
	r.findJob(form)
	r.findStubs(form)
	f.Variables = r.variables(form.Variables)
	if len(form.Runs) == 0 && !r.diags.HasErrors() {
		r.diags = append(r.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: fmt.Sprintf("there is no run in %q", f.Path)})
		diagnostic.SetRemedy(r.diags[len(r.diags)-1], `write run "name" { … }`)
	}
	first := map[string]hcl.Range{}
	for _, run := range form.Runs {
		at := run.Block.Label
		if before, again := first[run.Name]; again {
			r.twice(at, fmt.Sprintf("run %q is defined twice", run.Name), before)
			continue
		}
		if strings.TrimSpace(run.Name) == "" {
			r.refuse(at, "a run needs a name", "", `write run "what is tested" { … }`)
		}
		first[run.Name] = at
		f.Runs = append(f.Runs, r.run(run))
	}
}

// findJob finds the job file: the one that is named, or the one with the name of
// the test file beside it or, if the test file is in a folder "tests", beside
// that.
func (r *reader) findJob(form *fileForm) {
	r.file.jobAt = jobspec.RangeOf(form.Block.At("job"))
	if form.Block.Has("job") {
		r.file.Job = r.existing(form.Job, form.Block.At("job"), "job file")
		return
	}
	name := strings.TrimSuffix(filepath.Base(r.file.Path), Suffix)
	dirs := []string{r.file.dir()}
	if whole, err := filepath.Abs(r.file.dir()); err == nil && filepath.Base(whole) == "tests" {
		dirs = append(dirs, filepath.Join(r.file.dir(), ".."))
	}
	for _, dir := range dirs {
		for _, ending := range []string{".nomad.hcl", ".nomad", ".hcl", ".nomad.json"} {
			path := filepath.Join(dir, name+ending)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				r.file.Job = path
				return
			}
		}
	}
	r.diags = append(r.diags, &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: fmt.Sprintf("there is no job file for %q", r.file.Path),
		Detail: fmt.Sprintf("there is no %q beside it", name+".nomad.hcl"),
	})
	diagnostic.SetRemedy(r.diags[len(r.diags)-1], `name it: job = "FILE"`)
}

// findStubs finds the stubs file: the one that is named, or the one beside the
// job file, as in up.
func (r *reader) findStubs(form *fileForm) {
	if form.Block.Has("stubs") {
		r.file.Stubs = r.existing(form.Stubs, form.Block.At("stubs"), "stubs file")
	} else if r.file.Job != "" {
		r.file.Stubs = stub.Find(r.file.Job)
	}
}

// refuseReferences reports references where nothing is known: everywhere but in
// commands and assertions, which are evaluated later.
func (r *reader) refuseReferences(body hcl.Body) {
	native, ok := body.(*hclsyntax.Body)
	if !ok {
		return
	}
	var commands []hcl.Range
	for _, run := range native.Blocks {
		for _, b := range run.Body.Blocks {
			if command := b.Body.Attributes["command"]; b.Type == "exec" && command != nil {
				commands = append(commands, command.Expr.Range())
			}
		}
	}
	for _, ref := range r.scope.Deferred() {
		if !slices.ContainsFunc(commands, func(c hcl.Range) bool { return c.ContainsPos(ref.Range.Start) }) {
			r.refuse(ref.Range, fmt.Sprintf("%s is not known here", ref.Text), "only conditions, messages and commands may refer to something", "write the value")
		}
	}
}
