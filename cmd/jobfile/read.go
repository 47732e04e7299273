// Package jobfile reads job files, and the stubs beside them.
package jobfile

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// File is a job file after reading.
type File struct {
	*jobspec.File
	Name   string
	Stubs  *stub.Set          // shared by all files of a call
	Broken bool               // the stubs file has errors
	Source *api.JobSubmission // nil: unknown
}

// Options are the options of Read.
type Options struct {
	Vars, VarFiles []string
	SecretVars     bool   // Vars are not from the command line; see jobspec.Options
	Stubbed        bool   // read stubs
	Stubs          string // stubs file; empty: taskrun.hcl beside the job files
	Outline        bool   // variables may lack a value
	Placeholders   bool   // of the stubs have values: no task is started
	// Fit returns the number of errors of a file. If it is set, variables without a
	// value get samples with which there are few; see jobspec.Fit.
	Fit func(File) int
	// Values are of variables, and win over those of the stubs and of the
	// environment.
	Values map[string]jobspec.VariableValue
}

// CallError is an error in the call, with a remedy.
type CallError struct{ Text, Hint string }

func (e *CallError) Error() string { return e.Text }

// Read parses job files or, without names, the only one in the folder. The
// diagnostics are those of all files; a file with errors has no job.
func Read(ctx context.Context, names []string, stdin io.Reader, environ []string, opts Options) ([]File, jobspec.Diagnostics, error) {
	if len(names) == 0 {
		name, err := only()
		if err != nil {
			return nil, nil, err
		}
		names = []string{name}
	}
	if stdin := slices.Index(names, "-"); stdin >= 0 && slices.Contains(names[stdin+1:], "-") {
		return nil, nil, &CallError{Text: "stdin can be read once, but - is given twice"}
	}
	stubs, diagnostics, err := opts.stubs(names)
	if err != nil {
		return nil, nil, err
	}
	values, environ := opts.values(stubs, environ)
	broken := diagnostics.HasErrors() // then it is not known what the files lack
	var files []File
	for _, name := range names {
		src, err := jobspec.Read(ctx, name, stdin)
		if err != nil {
			diagnostics = append(diagnostics, unread(err))
			continue
		}
		parsing := jobspec.Options{
			Vars: opts.Vars, VarFiles: opts.VarFiles, SecretVars: opts.SecretVars, Environ: environ, Values: values,
			Outline: opts.Outline || broken, Placeholders: opts.Placeholders,
		}
		file, found := jobspec.Parse(src, parsing)
		if opts.Fit != nil && file.Job != nil && len(file.Unset) > 0 {
			file = jobspec.Fit(src, parsing, file, func(f *jobspec.File) int { return opts.Fit(File{File: f, Name: src.Name}) })
		}
		files = append(files, File{file, src.Name, stubs, broken, opts.submission(src, file)})
		diagnostics = append(diagnostics, found...)
	}
	return files, diagnostics, ctx.Err()
}

// only returns the only job file in the current folder.
func only() (string, error) {
	var found []string
	for _, pattern := range []string{"*.nomad.hcl", "*.nomad", "job.hcl"} {
		matches, _ := filepath.Glob(pattern) // the patterns are valid
		for _, name := range matches {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 0:
		return "", &CallError{Text: "no job file: name one, the folder holds no *.nomad.hcl, *.nomad or job.hcl"}
	case 1:
		return found[0], nil
	}
	return "", &CallError{Text: "no job file: name one, the folder holds " + strings.Join(found, ", ")}
}

// unread returns the diagnostic for a file that cannot be read.
func unread(err error) jobspec.Diagnostic {
	var p jobspec.Diagnostic
	if errors.As(err, &p) {
		return p
	}
	return jobspec.Diagnostic{Summary: err.Error()}
}

// Jobs returns the jobs in files.
func Jobs(files []File) []*api.Job {
	var all []*api.Job
	for _, f := range files {
		if f.Job != nil {
			all = append(all, f.Job)
		}
	}
	return all
}
