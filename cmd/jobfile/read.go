package jobfile

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"taskrun/jobspec"
)

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

func unread(err error) jobspec.Diagnostic {
	if d, ok := errors.AsType[jobspec.Diagnostic](err); ok {
		return d
	}
	return jobspec.Diagnostic{Summary: err.Error()}
}
