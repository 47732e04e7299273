package jobspec

import (
	"maps"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// fitTime limits the search for values. The last ones then stay as they are. Only
// a file that is slow to read takes so long, even on a busy machine.
const fitTime = 10 * time.Second

// Fit parses a file again, with samples in place of the values of variables that
// Options.Outline allows to be missing. It chooses samples with which the file
// has the fewest errors: a variable without a type may be anything, and one of a
// type may have conditions. The function returns the number of errors of a file
// that could be parsed.
func Fit(src Source, opts Options, file *File, errors func(*File) int) *File {
	values := maps.Clone(opts.Values)
	if values == nil {
		values = map[string]VariableValue{}
	}
	opts.Values, opts.Placeholders = values, true
	set := func(u Unset, v cty.Value) { values[u.Name] = VariableValue{Value: v, Placeholder: u.Name} }
	parse := func() (*File, int) {
		parsed, diagnostics := Parse(src, opts)
		if parsed.Job != nil {
			return parsed, errors(parsed)
		}
		return parsed, 1_000_000 + len(diagnostics)
	}
	for _, u := range file.Unset {
		set(u, u.Samples[0])
	}
	began := time.Now()
	best, fewest := parse()
	for before := fewest + 1; fewest < before; { // a value can show what is wrong with another
		before = fewest
		for _, u := range file.Unset {
			chosen := values[u.Name].Value
			for _, candidate := range u.Samples {
				if fewest == 0 || time.Since(began) > fitTime {
					break
				}
				set(u, candidate)
				if parsed, n := parse(); n < fewest {
					best, fewest, chosen = parsed, n, candidate
				}
			}
			set(u, chosen)
		}
	}
	for i, u := range file.Unset {
		file.Unset[i].Samples = []cty.Value{values[u.Name].Value}
	}
	if best.Job == nil {
		return file
	}
	best.Unset = file.Unset
	return best
}
