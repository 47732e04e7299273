package jobfile

import (
	"strings"

	"taskrun/jobspec"
	"taskrun/jobspec/standin"
)

// stubs reads the stubs of job files: of the file given, or of that beside them.
func (o *Options) stubs(names []string) (*standin.World, jobspec.Problems, error) {
	path := o.Stubs
	if path == "" && o.Stubbed {
		for i, name := range names {
			found := ""
			if name != "-" && !strings.Contains(name, "://") {
				found = standin.Find(name)
			}
			if i > 0 && found != path {
				return nil, nil, &CallError{"the job files have different stubs files beside them", "name one with --stubs"}
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

// Stubs returns the stubs of files; all have the same.
func Stubs(files []File) *standin.World {
	if len(files) == 0 {
		return standin.Nothing()
	}
	return files[0].Stubs
}

// StubsUnknown reports whether it is not known what the stubs of files define:
// their file has errors, or variables in it are still to be filled in.
func StubsUnknown(files []File) bool {
	for _, f := range files {
		if f.Broken {
			return true
		}
		if f.Job != nil {
			continue // it found all values that it needs
		}
		for _, v := range f.Stubs.Values {
			if v.Value.IsNull() {
				return true
			}
		}
	}
	return false
}
