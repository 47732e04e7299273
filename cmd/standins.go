package cmd

import (
	"strings"

	"github.com/spf13/pflag"

	"taskrun/jobspec"
	"taskrun/jobspec/standin"
)

// bindLocal adds the flag of commands that stand-ins are for.
func (o *jobOptions) bindLocal(flags *pflag.FlagSet) {
	o.lend = true
	flags.StringVar(&o.local, "local", "", "`file` of what stands in for a cluster (default: taskrun.hcl beside the job file)")
}

// standIns reads what is lent to job files: the file given, or that beside
// them. Without one nothing is lent.
func (o *jobOptions) standIns(names []string) (*standin.World, jobspec.Problems, error) {
	path := o.local
	if path == "" && o.lend {
		for i, name := range names {
			found := ""
			if name != "-" && !strings.Contains(name, "://") {
				found = standin.Find(name)
			}
			if i > 0 && found != path {
				return nil, nil, usageError("the job files have different stand-ins beside them").withHint("name one file of stand-ins with --local")
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
