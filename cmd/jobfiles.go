package cmd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/pflag"

	"taskrun/jobspec"
	"taskrun/jobspec/standin"
	"taskrun/jobspec/validate"
)

// fileHelp says what FILE may be.
const fileHelp = `FILE is a job file in HCL or JSON, - for stdin, or an http(s) URL. It may be
left out if the folder has exactly one *.nomad.hcl, *.nomad or job.hcl.`

// jobOptions are the flags of every command that reads job files.
type jobOptions struct {
	vars, varFiles []string
	strict         bool
	lend           bool   // stubs are read
	stubs, local   string // from this file
	flags          *pflag.FlagSet
	outline        bool // variables may lack a value
	maxAllocs      allocLimit
}

func (o *jobOptions) bind(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.vars, "var", nil, "set a variable of the job file: `name=value` (may be repeated)")
	flags.StringArrayVar(&o.varFiles, "var-file", nil, "set variables from a `file` (may be repeated)")
}

func (o *jobOptions) bindStrict(flags *pflag.FlagSet) {
	flags.BoolVar(&o.strict, "strict", false, "treat warnings as errors")
}

func (o *jobOptions) bindMaxAllocs(flags *pflag.FlagSet) {
	o.maxAllocs = validate.DefaultMaxAllocs
	flags.Var(&o.maxAllocs, "max-allocs", "refuse jobs with more allocations than this")
}

// allocLimit is how many allocations a job may have, at least 1; 0 means that
// another program decides.
type allocLimit int

func (l *allocLimit) String() string { return strconv.Itoa(int(*l)) }

func (l *allocLimit) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return fmt.Errorf("%q is not a number from 1 to %d", text, math.MaxInt32)
	}
	*l = allocLimit(n)
	return nil
}

func (l *allocLimit) Type() string { return "count" }

// jobFile is a job file that was read.
type jobFile struct {
	*jobspec.File
	name   string
	lent   *standin.World
	broken bool               // the file of stubs has errors
	source *api.JobSubmission // nil: not known
}

// defaultFile returns the only job file of the current folder.
func defaultFile() (string, error) {
	var found []string
	for _, pattern := range []string{"*.nomad.hcl", "*.nomad", "job.hcl"} {
		matches, _ := filepath.Glob(pattern) // the patterns are well-formed
		for _, name := range matches {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 0:
		return "", usageError("no job file: name one, the folder holds no *.nomad.hcl, *.nomad or job.hcl")
	case 1:
		return found[0], nil
	}
	return "", usageError("no job file: name one, the folder holds %s", strings.Join(found, ", "))
}

// read parses job files, or the only one of the folder. The problems are those
// of all files; a file that has errors has no job.
func (a *app) read(ctx context.Context, names []string, opts jobOptions) ([]jobFile, jobspec.Problems, error) {
	if len(names) == 0 {
		name, err := defaultFile()
		if err != nil {
			return nil, nil, err
		}
		names = []string{name}
	}
	if stdin := slices.Index(names, "-"); stdin >= 0 && slices.Contains(names[stdin+1:], "-") {
		return nil, nil, usageError("stdin can be read once, but - is there twice")
	}
	world, problems, err := opts.standIns(names)
	if err != nil {
		return nil, nil, err
	}
	broken := problems.HasErrors() // then it is not known what the files lack
	var files []jobFile
	for _, name := range names {
		src, err := jobspec.Read(ctx, name, a.streams.In)
		if err != nil {
			problems = append(problems, unread(err))
			continue
		}
		file, found := jobspec.Parse(src, jobspec.Options{
			Vars: opts.vars, VarFiles: opts.varFiles, Environ: a.environ, Values: world.Values, Outline: opts.outline || broken,
		})
		files = append(files, jobFile{file, src.Name, world, broken, opts.submission(src, file)})
		problems = append(problems, found...)
	}
	return files, problems, ctx.Err()
}

// unread is the problem of a file that cannot be read.
func unread(err error) jobspec.Problem {
	var p jobspec.Problem
	if errors.As(err, &p) {
		return p
	}
	return jobspec.Problem{Summary: err.Error()}
}

// strictly turns warnings into errors when the user wants that.
func (o *jobOptions) strictly(problems jobspec.Problems) jobspec.Problems {
	if o.strict {
		for i := range problems {
			problems[i].Severity = jobspec.Error
		}
	}
	return problems
}

// jobs returns the jobs of files.
func jobs(files []jobFile) []*api.Job {
	var all []*api.Job
	for _, f := range files {
		if f.Job != nil {
			all = append(all, f.Job)
		}
	}
	return all
}
