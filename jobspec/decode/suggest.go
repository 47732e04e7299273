package decode

import (
	"fmt"
	"slices"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
)

// Suggest returns the name among known that is nearest to name, or "" if none
// is near.
func Suggest(name string, known []string) string {
	best, distance := "", 3
	for _, candidate := range slices.Sorted(slices.Values(known)) {
		if d := levenshtein.Distance(name, candidate, nil); d < distance {
			best, distance = candidate, d
		}
	}
	return best
}

func didYouMean(name string, known []string) string {
	if near := Suggest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

func unknownName(what, name string, at hcl.Range, where string, known []string) *hcl.Diagnostic {
	return fault(at, fmt.Sprintf("unknown %s %q in %s", what, name, where), "", didYouMean(name, known))
}

func (s *schema) names() []string {
	names := make([]string, 0, len(s.attributes)+len(s.blockTypes))
	for name := range s.attributes {
		names = append(names, name)
	}
	for name := range s.blockTypes {
		names = append(names, name)
	}
	return names
}

func (d *Decoder) unknownAttribute(a attribute, where string, s *schema) *hcl.Diagnostic {
	diag := unknownName("attribute", a.name, a.at, where, s.names())
	if s.blockTypes[a.name] != nil {
		diag.Summary = fmt.Sprintf("%q must be a block", a.name)
		diag.Extra = Remedy(fmt.Sprintf("leave out the equals sign: %s {", a.name))
		return diag
	}
	if diag.Extra == nil {
		if inner := d.home(a.name, s); inner != "" {
			diag.Extra = Remedy(fmt.Sprintf("it belongs in a %s block", inner))
		}
	}
	return diag
}

func (d *Decoder) unknownBlock(b block, where string, s *schema) *hcl.Diagnostic {
	diag := unknownName("block", b.name, b.at, where, s.names())
	if s.attributes[b.name] != nil {
		diag.Summary = fmt.Sprintf("%q must be an attribute", b.name)
		diag.Extra = Remedy(fmt.Sprintf("write %s = …", b.name))
	}
	return diag
}

// home returns the type of the only inner block that has an attribute of that
// name.
func (d *Decoder) home(name string, s *schema) string {
	home := ""
	for _, f := range s.order {
		if t := f.element(); t != nil && d.schema(t).attributes[name] != nil {
			if home != "" {
				return ""
			}
			home = f.name
		}
	}
	return home
}
