package jobfile

import (
	"strings"

	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// stubs reads the stubs of job files, from the given file or the one beside
// them.
func (o *Options) stubs(names []string) (*stub.Set, jobspec.Diagnostics, error) {
	path := o.Stubs
	if path == "" && o.Stubbed {
		for i, name := range names {
			found := ""
			if name != "-" && !strings.Contains(name, "://") {
				found = stub.Find(name)
			}
			if i > 0 && found != path {
				return nil, nil, &CallError{"the job files have different stubs files beside them", "name one with --stubs"}
			}
			path = found
		}
	}
	if path == "" {
		return stub.None(), nil, nil
	}
	stubs, diagnostics := stub.Read(path)
	if stubs == nil {
		stubs = stub.None()
	}
	if p, exposed := stubs.Exposed(); exposed {
		diagnostics = append(diagnostics, p)
	}
	return stubs, diagnostics, nil
}

// Stubs returns the stubs of files; all have the same.
func Stubs(files []File) *stub.Set {
	if len(files) == 0 {
		return stub.None()
	}
	return files[0].Stubs
}

// StubsUnknown reports whether the stubs of files are not completely known:
// their file has errors, or some variables still need a value.
func StubsUnknown(files []File) bool {
	for _, f := range files {
		if f.Broken {
			return true
		}
		if f.Job != nil {
			continue // it has all values that it needs
		}
		for _, v := range f.Stubs.Values {
			if v.Value.IsNull() {
				return true
			}
		}
	}
	return false
}
