package placement

import (
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	version "github.com/hashicorp/go-version"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/taskenv"
)

// A Gap is a value of the node for which constraints fail.
type Gap struct {
	Name string // of the reference, such as "meta.rack"
	// Has is the value of the node; Measured reports whether there is one.
	Has      string
	Measured bool
	// Value is one with which the constraints hold; Satisfied reports whether there
	// is one.
	Value     string
	Satisfied bool
	At        jobspec.Path // of the first constraint
}

// Gaps returns the values of the node for which constraints of a job fail, in
// order. If no value satisfies all constraints, which may be those of different
// groups, it satisfies the first.
func Gaps(job *api.Job, node *taskenv.Node) (gaps []Gap) {
	all, first := map[string][]*api.Constraint{}, map[string]jobspec.Path{}
	var order []string
	eachConstraint(job, func(c *api.Constraint, at jobspec.Path) {
		name, ok := strings.CutPrefix(strings.TrimSuffix(c.LTarget, "}"), "${")
		if !ok || c.Operand == api.ConstraintDistinctHosts || c.Operand == api.ConstraintDistinctProperty {
			return
		}
		if all[name] == nil {
			order = append(order, name)
			first[name] = at
		}
		all[name] = append(all[name], c)
	})
	for _, name := range order {
		list := all[name]
		if !slices.ContainsFunc(list, func(c *api.Constraint) bool { return failure(c, node) != "" }) {
			continue
		}
		g := Gap{Name: name, At: first[name]}
		g.Has, g.Measured = node.Lookup("${" + name + "}")
		if g.Value, g.Satisfied = satisfying(list, node); !g.Satisfied {
			g.Value, g.Satisfied = satisfying(list[:1], node)
		}
		gaps = append(gaps, g)
	}
	return gaps
}

// satisfying returns a value of the left side with which constraints hold.
func satisfying(list []*api.Constraint, node *taskenv.Node) (string, bool) {
	var candidates []string
	for _, c := range list {
		if right, ok := node.Lookup(c.RTarget); ok {
			candidates = append(candidates, candidatesFor(c.Operand, right)...)
		}
	}
	for _, value := range candidates {
		if !slices.ContainsFunc(list, func(c *api.Constraint) bool {
			right, ok := node.Lookup(c.RTarget)
			return !holds(c.Operand, value, true, right, ok)
		}) {
			return value, true
		}
	}
	return "", false
}

// candidatesFor returns values that could be on the left of an operator.
func candidatesFor(operand, right string) []string {
	switch operand {
	case api.ConstraintAttributeIsSet:
		return []string{"1"}
	case "<", "<=", ">", ">=":
		n, err := strconv.ParseInt(right, 10, 64)
		if err != nil {
			return []string{right, right + "0", "0"}
		}
		return []string{right, strconv.FormatInt(n+1, 10), strconv.FormatInt(n-1, 10)}
	case api.ConstraintVersion, api.ConstraintSemver:
		return versions(right)
	case api.ConstraintRegex:
		if re, err := syntax.Parse(right, syntax.Perl); err == nil {
			return []string{match(re), right}
		}
	case api.ConstraintSetContainsAny:
		return append([]string{right}, set(right)...)
	}
	return []string{right}
}

// versions returns versions near those of a constraint such as ">= 1.2, < 2".
func versions(constraint string) (found []string) {
	for _, part := range strings.Split(constraint, ",") {
		v, err := version.NewVersion(strings.TrimLeft(part, "<>=!~ "))
		if err != nil {
			continue
		}
		n := append(v.Core().Segments(), 0, 0)[:3]
		text := func(a, b, c int) string {
			return strconv.Itoa(max(a, 0)) + "." + strconv.Itoa(max(b, 0)) + "." + strconv.Itoa(max(c, 0))
		}
		found = append(found, text(n[0], n[1], n[2]), text(n[0], n[1], n[2]+1), text(n[0], n[1]+1, 0), text(n[0]+1, 0, 0),
			text(n[0], n[1], n[2]-1), text(n[0], n[1]-1, 0), text(n[0]-1, 0, 0), v.Original())
	}
	return found
}

// match returns a short text that a regular expression probably matches.
func match(re *syntax.Regexp) string {
	var b strings.Builder
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			return string(re.Rune[0])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "x"
	case syntax.OpCapture, syntax.OpPlus:
		return match(re.Sub[0])
	case syntax.OpRepeat:
		return strings.Repeat(match(re.Sub[0]), re.Min)
	case syntax.OpAlternate:
		return match(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			b.WriteString(match(sub))
		}
	}
	return b.String()
}
