package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	hooks "taskrun/hooks/catalog"

	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/neighbors"
	"taskrun/cmd/preflight"
	"taskrun/cmd/ui"
	"taskrun/drivers"
	"taskrun/engine/leaf/service"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/validate"
)

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
	o.flags = flags
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

// allocLimit is how many allocations a job may have, at least 1; 0 leaves the
// limit to a cluster.
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

// read parses job files or, without names, the only one in the folder. The
// diagnostics are those of all files; a file with errors has no job.
func (a *app) read(ctx context.Context, names []string, opts jobOptions) ([]jobfile.File, jobspec.Diagnostics, error) {
	opts.Stubs, opts.SecretVars = opts.stubsFile(), opts.secretVars()
	files, diagnostics, err := jobfile.Read(ctx, names, a.Streams.In, a.Environ, opts.Options)
	if call, ok := errors.AsType[*jobfile.CallError](err); ok {
		err = exit.Usage("%w", err).WithHint("%s", call.Hint)
	}
	return files, diagnostics, err
}

// secretVars reports whether values of --var come from the environment or the
// config file, where they may be secrets.
func (o *jobOptions) secretVars() bool {
	return o.SecretVars || len(o.Vars) > 0 && o.flags != nil && !o.flags.Changed("var")
}

// bindStubs adds the flags of commands that use stubs. --local is the old
// spelling of --stubs.
func (o *jobOptions) bindStubs(flags *pflag.FlagSet) {
	o.Stubbed = true
	flags.StringVar(&o.stubs, "stubs", "", "`file` of stubs (default: taskrun.hcl beside the job file)")
	flags.StringVar(&o.local, "local", "", "`file` of stubs")
	hide(flags, "local")
}

// stubsFile returns the file that the user names. The command line wins over
// the environment and the config file, with either spelling.
func (o *jobOptions) stubsFile() string {
	if o.local != "" && o.flags.Changed("local") && !o.flags.Changed("stubs") {
		return o.local
	}
	return cmp.Or(o.stubs, o.local)
}

// sources returns the paths of all files that decide what jobs are. With errors in
// them, those that were known before may still be needed.
func (o *jobOptions) sources(names []string, files []jobfile.File, known []string) []string {
	paths := slices.Concat(names, o.VarFiles)
	if given := o.stubsFile(); given != "" {
		paths = append(paths, given)
	} else if o.Stubbed {
		for _, name := range names { // it may be written later
			paths = append(paths, filepath.Join(filepath.Dir(name), stub.DefaultName))
		}
	}
	wrong := len(files) < len(names)
	for _, f := range files {
		paths = slices.Concat(paths, f.Reads, f.Stubs.Reads)
		wrong = wrong || f.Job == nil || f.Broken
	}
	if wrong {
		paths = append(paths, known...)
	}
	for i, path := range paths {
		if abs, err := filepath.Abs(path); err == nil {
			paths[i] = abs
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// machineOptions are the flags that decide which drivers, ports and limits jobs
// get on this machine.
type machineOptions struct {
	drivers   []string // A=B: tasks of driver A run with driver B
	dataDir   string
	neighbors neighbors.Scope // whose services jobs see
	hostPaths bool
	memoryMax bool // limit tasks to memory_max
	enforce   bool // enforce memory limits
}

func (o *machineOptions) bind(flags *pflag.FlagSet) {
	o.bindDrivers(flags)
	flags.StringVar(&o.dataDir, "data-dir", "", "`directory` for allocations (default: $XDG_STATE_HOME/taskrun; for root /var/lib/taskrun)")
	flags.BoolVar(&o.memoryMax, "memory-oversubscription", false, "allow tasks to use memory up to their memory_max")
	flags.BoolVar(&o.hostPaths, "host-paths", false, "let docker tasks mount paths of this machine, instead of folders of the data directory")
}

// bindNeighbors adds the flag of commands whose jobs see services of other runs.
func (o *machineOptions) bindNeighbors(flags *pflag.FlagSet) {
	o.neighbors = neighbors.DataDir
	flags.Var(ui.Choice[neighbors.Scope]{To: &o.neighbors, Kind: "scope", Values: neighbors.Scopes}, "neighbors",
		"other runs whose services jobs see: those of the same data-dir, all of this user, or none")
}

func (o *machineOptions) bindDrivers(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.drivers, "driver", nil, "replace driver A with driver B: `A=B`, e.g. docker=mock_driver (may be repeated)")
}

// instead returns the replacement of each driver that --driver names.
func (o *machineOptions) instead(known map[string]drivers.Driver) (map[string]string, error) {
	instead := map[string]string{}
	for _, pair := range o.drivers {
		from, to, ok := strings.Cut(pair, "=")
		switch {
		case !ok || from == "" || to == "":
			return nil, exit.Usage("cannot use --driver %q: use A=B, such as docker=mock_driver", pair)
		case known[to] == nil:
			return nil, exit.Usage("cannot run %s tasks with driver %q: there is no such driver", from, to).
				WithHint("there are %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		instead[from] = to
	}
	return instead, nil
}

// preflight returns the case of an entry point for files. Ending done ends the
// search for other runs.
func (a *app) preflight(entry preflight.Entry, files []jobfile.File, opts jobOptions, machine machineOptions) (c *preflight.Case, done func(), err error) {
	instead, err := machine.instead(a.drivers())
	if err != nil {
		return nil, nil, err
	}
	var elsewhere func() []*service.Instance
	done = func() {}
	if entry&(preflight.Strict|preflight.Up|preflight.Update) != 0 { // the other entry points do not depend on other runs
		dataDir, err := a.runs.DataDir(machine.dataDir)
		if err != nil {
			return nil, nil, err
		}
		dir, _ := a.runs.Sockets() // without the directory there are no other runs
		others := neighbors.New(neighbors.Run{Sockets: dir, DataDir: dataDir, Scope: machine.neighbors}, func() {})
		elsewhere, done = others.Instances, others.Close
	}
	return &preflight.Case{
		Entry: entry, Files: preflightFiles(files), Stubs: jobfile.Stubs(files), StubsBroken: jobfile.StubsUnknown(files),
		Drivers: a.drivers(), Instead: instead, Health: a.health(), Unheeded: a.unheeded,
		Services: hooks.Known(&service.Catalog{}, elsewhere), Environ: a.Environ,
		DataDir: machine.dataDir, MaxAllocs: int(opts.maxAllocs),
		HostPaths: machine.hostPaths, MemoryMax: machine.memoryMax, EnforceMemory: machine.enforce,
	}, done, nil
}

// readChecked reads job files and checks them for an entry point that runs
// nothing on this machine. It returns the diagnostics of both steps.
func (a *app) readChecked(ctx context.Context, entry preflight.Entry, names []string, opts jobOptions, machine machineOptions) ([]jobfile.File, jobspec.Diagnostics, error) {
	files, diagnostics, err := a.read(ctx, names, opts)
	if err != nil {
		return nil, nil, err
	}
	c, done, err := a.preflight(entry, files, opts, machine)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	c.Prepare()
	return files, opts.wanted(sorted(diagnostics, c.Check())), nil
}

// sorted joins lists of diagnostics, in the order of the files.
func sorted(lists ...jobspec.Diagnostics) jobspec.Diagnostics {
	all := slices.Concat(lists...)
	all.Sort()
	return all
}

func preflightFiles(files []jobfile.File) []preflight.File {
	list := make([]preflight.File, len(files))
	for i, f := range files {
		list[i] = preflight.File{File: f.File, Job: cmp.Or(f.Draft, f.Job), Name: f.Name}
	}
	return list
}
