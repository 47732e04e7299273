package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"taskrun/jobspec"
)

// choice refuses a value that is not one of the allowed ones, and reports
// whether it is. An empty value counts as missing, unless "" is allowed.
func (c *checker) choice(at jobspec.Path, name, value string, allowed ...string) bool {
	if slices.Contains(allowed, value) {
		return true
	}
	words := slices.DeleteFunc(slices.Clone(allowed), func(s string) bool { return s == "" })
	list := strings.Join(words, ", ")
	if value == "" {
		c.refuse(at, name+" is missing", "", "write one of "+list)
		return false
	}
	c.refuse(at, "unknown "+name, fmt.Sprintf("%q", value), orElse(didYouMean(value, words), "write one of "+list))
	return false
}

// didYouMean returns `did you mean "x"?` for the name nearest to what was
// written, and "" if none is near.
func didYouMean(written string, names []string) string {
	if best := nearest(written, names); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return ""
}

// nearest returns the name that takes the fewest edits to reach, at most two and
// fewer than half of the longer one, or "".
func nearest(written string, names []string) string {
	best, edits := "", 3
	for _, name := range names {
		d := levenshtein.Distance(strings.ToLower(written), strings.ToLower(name), nil)
		if d < edits && 2*d < max(len(written), len(name)) {
			best, edits = name, d
		}
	}
	return best
}

// orElse returns the first text that is not empty.
func orElse(hint, otherwise string) string {
	if hint != "" {
		return hint
	}
	return otherwise
}
