package cmd

import (
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/pflag"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/standin"
	"taskrun/jobspec/taskenv"
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

// override changes tasks as the stand-ins say. A block that is for none of the
// tasks may be for another job file, but not if it names a job that is here or
// looks like a slip.
func override(files []jobFile) (problems jobspec.Problems) {
	used := map[int]bool{}
	known := map[string]bool{} // jobs
	var tasks []string
	for _, f := range files {
		if f.Job == nil {
			return nil // whose tasks a block is for cannot be told
		}
		maps.Copy(used, lent(files).Override(f.Job, f.Positions))
		known[*f.Job.ID] = true
		for _, g := range f.Job.TaskGroups {
			for _, t := range g.Tasks {
				tasks = append(tasks, t.Name)
			}
		}
	}
	for i, t := range lent(files).Tasks {
		steps := strings.Split(t.Target, "/")
		near := diagnostic.Nearest(steps[len(steps)-1], tasks)
		p := jobspec.Problem{Summary: fmt.Sprintf("there is no task %q", t.Target), Range: t.At}
		if near != "" {
			p.Remedy = fmt.Sprintf("did you mean %q?", near)
		}
		switch {
		case used[i]:
		case len(steps) == 3 && known[steps[0]]:
			problems = append(problems, p)
		case near != "":
			p.Severity = jobspec.Warning
			problems = append(problems, p)
		}
	}
	return problems
}

// describe adds to the description of this machine what stands in for another.
func describe(node *taskenv.Node, lent standin.Node) {
	for to, from := range map[*string]string{
		&node.Name: lent.Name, &node.Class: lent.Class, &node.Pool: lent.Pool, &node.Datacenter: lent.Datacenter,
	} {
		if from != "" {
			*to = from
		}
	}
	maps.Copy(node.Attributes, lent.Attributes)
	node.Meta = lent.Meta
}
