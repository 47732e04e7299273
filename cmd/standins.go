package cmd

import (
	"cmp"
	"strings"

	"github.com/spf13/pflag"

	"taskrun/jobspec"
	"taskrun/jobspec/standin"
)

// bindStubs adds the flags of commands that use stubs. --local is the old
// spelling of --stubs.
func (o *jobOptions) bindStubs(flags *pflag.FlagSet) {
	o.lend, o.flags = true, flags
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

// standIns reads what is lent to job files: the file given, or that beside
// them. Without one nothing is lent.
func (o *jobOptions) standIns(names []string) (*standin.World, jobspec.Problems, error) {
	path := o.stubsFile()
	if path == "" && o.lend {
		for i, name := range names {
			found := ""
			if name != "-" && !strings.Contains(name, "://") {
				found = standin.Find(name)
			}
			if i > 0 && found != path {
				return nil, nil, usageError("the job files have different stubs files beside them").withHint("name one with --stubs")
			}
			path = found
		}
	}
	if path == "" {
		return standin.Nothing(), nil, nil
	}
	world, problems := standin.Read(path)
	if world == nil {
		world = standin.Nothing()
	}
	if p, exposed := world.Exposed(); exposed {
		problems = append(problems, p)
	}
	return world, problems, nil
}

// lent is what stands in for a cluster in a run of files; all have the same.
func lent(files []jobFile) *standin.World {
	if len(files) == 0 {
		return standin.Nothing()
	}
	return files[0].lent
}
