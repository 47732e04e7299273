package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"taskrun/cmd/jobfile"
	"taskrun/jobspec"
	"taskrun/jobspec/validate"
)

// fileHelp says what FILE may be.
const fileHelp = `FILE is a job file in HCL or JSON, - for stdin, or an http(s) URL. It may be
left out if the folder has exactly one *.nomad.hcl, *.nomad or job.hcl.`

// jobOptions are the flags of every command that reads job files.
type jobOptions struct {
	jobfile.Options
	strict       bool
	hints        bool
	stubs, local string // the values of --stubs and its old spelling
	flags        *pflag.FlagSet
	maxAllocs    allocLimit
}

func (o *jobOptions) bind(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.Vars, "var", nil, "set a variable of the job file: `name=value` (may be repeated)")
	flags.StringArrayVar(&o.VarFiles, "var-file", nil, "set variables from a `file` (may be repeated)")
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

// wanted turns warnings into errors with --strict, and drops hints without
// --hints.
func (o *jobOptions) wanted(diagnostics jobspec.Diagnostics) jobspec.Diagnostics {
	if !o.hints {
		diagnostics = slices.DeleteFunc(diagnostics, func(d jobspec.Diagnostic) bool { return d.Severity == jobspec.Hint })
	}
	for i, d := range diagnostics {
		if o.strict && d.Severity == jobspec.Warning {
			diagnostics[i].Severity = jobspec.Error
		}
	}
	return diagnostics
}

// read parses job files, or the only one of the folder. The diagnostics are those
// of all files; a file that has errors has no job.
func (a *app) read(ctx context.Context, names []string, opts jobOptions) ([]jobfile.File, jobspec.Diagnostics, error) {
	opts.Stubs = opts.stubsFile()
	files, diagnostics, err := jobfile.Read(ctx, names, a.streams.In, a.environ, opts.Options)
	var call *jobfile.CallError
	if errors.As(err, &call) {
		err = usageError("%w", err).withHint("%s", call.Hint)
	}
	return files, diagnostics, err
}

// bindStubs adds the flags of commands that use stubs. --local is the old
// spelling of --stubs.
func (o *jobOptions) bindStubs(flags *pflag.FlagSet) {
	o.Stubbed, o.flags = true, flags
	flags.StringVar(&o.stubs, "stubs", "", "`file` of stubs (default: taskrun.hcl beside the job file)")
	flags.StringVar(&o.local, "local", "", "`file` of stubs")
	hide(flags, "local")
}

// stubsFile returns the file that the user names. The command line wins over
// the environment and the config file, whichever spelling it uses.
func (o *jobOptions) stubsFile() string {
	if o.local != "" && o.flags.Changed("local") && !o.flags.Changed("stubs") {
		return o.local
	}
	return cmp.Or(o.stubs, o.local)
}
