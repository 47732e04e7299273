package cmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"taskrun/drivers"
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
