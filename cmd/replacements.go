package cmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/catalog"
	"taskrun/jobspec"
)

// replacements is what --driver says: A=B runs the tasks of driver A with
// driver B.
type replacements map[string]string

// String, Set, Type and the three methods below make it the value of a flag
// that may be repeated; pairs may also be joined by commas.
func (r replacements) String() string { return strings.Join(r.GetSlice(), ",") }

// Set adds pairs.
func (r replacements) Set(s string) error {
	for pair := range strings.SplitSeq(s, ",") {
		from, to, ok := strings.Cut(pair, "=")
		if !ok || from == "" || to == "" {
			return fmt.Errorf("%q is not of the form docker=mock_driver", pair)
		}
		r[from] = to
	}
	return nil
}

// Type names the value in help texts.
func (r replacements) Type() string { return "A=B" }

// Append adds a pair.
func (r replacements) Append(s string) error { return r.Set(s) }

// Replace forgets the pairs and takes others.
func (r replacements) Replace(pairs []string) error {
	clear(r)
	for _, p := range pairs {
		if err := r.Set(p); err != nil {
			return err
		}
	}
	return nil
}

// GetSlice returns the pairs, sorted.
func (r replacements) GetSlice() []string {
	var pairs []string
	for _, from := range slices.Sorted(maps.Keys(r)) {
		pairs = append(pairs, from+"="+r[from])
	}
	return pairs
}

// check refuses drivers that there are not.
func (r replacements) check(known map[string]drivers.Driver) error {
	names := slices.Sorted(maps.Keys(known))
	for from, to := range r {
		if known[to] == nil {
			return usageError("cannot run %s tasks with driver %q: there is no such driver", from, to).
				withHint("there are %s", strings.Join(names, ", "))
		}
	}
	return nil
}

// apply gives a task its other driver, and leaves out the options that this
// one does not have.
func (r replacements) apply(configs *catalog.Checker, t *api.Task, at jobspec.Path) jobspec.Problems {
	to, ok := r[t.Driver]
	if !ok {
		return nil
	}
	from := t.Driver
	t.Driver = to
	options := configs.Options(to)
	var left []string
	for name := range t.Config {
		if !slices.Contains(options, name) {
			left = append(left, name)
		}
	}
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	for _, name := range left {
		delete(t.Config, name)
	}
	return jobspec.Problems{{
		Severity: jobspec.Warning,
		Summary:  fmt.Sprintf("task %q of driver %q runs with %q, which does not have all its options", t.Name, from, to),
		Detail:   "left out: " + strings.Join(left, ", "),
		Path:     at.Attr("config"),
	}}
}
