package jobfile

import (
	"cmp"
	"maps"
	"slices"
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
	stubs = cmp.Or(stubs, stub.None())
	if p, exposed := stubs.Exposed(); exposed {
		diagnostics = append(diagnostics, p)
	}
	if !o.Placeholders {
		stubs = stubs.Filled()
	}
	return stubs, diagnostics, nil
}

// values returns the values of variables, and the environment without those that
// they win over.
func (o *Options) values(stubs *stub.Set, environ []string) (map[string]jobspec.VariableValue, []string) {
	if len(o.Values) == 0 {
		return stubs.Values, environ
	}
	values := make(map[string]jobspec.VariableValue, len(stubs.Values)+len(o.Values))
	maps.Copy(values, stubs.Values)
	maps.Copy(values, o.Values)
	return values, slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		name, ofJob := strings.CutPrefix(name, "NOMAD_VAR_")
		_, given := o.Values[name]
		return ofJob && given
	})
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
