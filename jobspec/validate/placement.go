package validate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	version "github.com/hashicorp/go-version"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

// placement checks the blocks of a job or a group that affect the choice of
// nodes.
func (c *checker) placement(constraints []*api.Constraint, affinities []*api.Affinity, spreads []*api.Spread, at jobspec.Path) {
	for k, at := range blocks(constraints, "constraint", at) {
		c.constraint(k, at)
	}
	eachRanking(c, affinities, "affinity", "affinities", c.affinity, at)
	eachRanking(c, spreads, "spread", "spread", c.spread, at)
}

// eachRanking checks the blocks that rank nodes. A system job has none, because
// it runs on every node that its constraints allow.
func eachRanking[T any](c *checker, ranking []*T, name, plural string, check func(*T, jobspec.Path), at jobspec.Path) {
	if c.kind == api.JobTypeSystem {
		if ranking != nil {
			c.refuse(at.Index(name, 0), "a system job has no "+plural, "it runs on every node", "remove the block")
		}
		return
	}
	for b, at := range blocks(ranking, name, at) {
		check(b, at)
	}
}

// taskConstraints checks constraints that apply to an already placed
// allocation, where separating it from others is impossible.
func (c *checker) taskConstraints(constraints []*api.Constraint, where string, at jobspec.Path) {
	for k, at := range blocks(constraints, "constraint", at) {
		if k.Operand == api.ConstraintDistinctHosts || k.Operand == api.ConstraintDistinctProperty {
			c.refuse(at, fmt.Sprintf("%s is not possible in a %s", k.Operand, where), "", "move the constraint to the group or the job")
			continue
		}
		c.constraint(k, at)
	}
}

func (c *checker) constraint(k *api.Constraint, at jobspec.Path) {
	switch k.Operand {
	case api.ConstraintDistinctHosts:
		return
	case api.ConstraintDistinctProperty:
		if n, err := strconv.ParseUint(k.RTarget, 10, 64); k.RTarget != "" && (err != nil || n == 0) {
			c.refuse(at.Attr("value"), "distinct_property needs a number",
				fmt.Sprintf("value is %q", k.RTarget), "write how many allocations may share the property, 1 or more")
		}
	case api.ConstraintAttributeIsSet, api.ConstraintAttributeIsNotSet:
		if k.RTarget != "" {
			c.refuse(at.Attr("value"), k.Operand+" takes no value", fmt.Sprintf("value is %q", k.RTarget), "remove it")
		}
	default:
		c.comparison(k.Operand, k.RTarget, at, append(comparisons(), api.ConstraintDistinctHosts, api.ConstraintDistinctProperty,
			api.ConstraintAttributeIsSet, api.ConstraintAttributeIsNotSet))
	}
	c.attribute(k.LTarget, at, "constraint", jobspec.Error, "unknown attribute")
	c.target(k.RTarget, at.Attr("value"))
}

func (c *checker) affinity(a *api.Affinity, at jobspec.Path) {
	c.comparison(a.Operand, a.RTarget, at, comparisons())
	c.attribute(a.LTarget, at, "affinity", jobspec.Warning, "affinity never applies")
	c.target(a.RTarget, at.Attr("value"))
	if w := deref(a.Weight); w == 0 || w < -100 || w > 100 {
		c.wrong(at.Attr("weight"), "weight is out of range", fmt.Sprintf("it is %d", w), "write -100 to 100, not 0")
	}
}

// attribute checks the left operand of a constraint or an affinity. One that the
// scheduler does not know has this severity and summary.
func (c *checker) attribute(target string, at jobspec.Path, of string, severity jobspec.Severity, summary string) {
	why := unknownTarget(target)
	c.required(at, target, of+" has no attribute", `add attribute = "${attr.kernel.name}" or the like`)
	if why != "" {
		c.alone(severity, at.Attr("attribute"), summary, fmt.Sprintf("%q %s", target, why), targetHint(target))
	} else {
		c.target(target, at.Attr("attribute"))
	}
}

// target warns about a reference that no node can resolve.
func (c *checker) target(text string, at jobspec.Path) {
	name, opened := strings.CutPrefix(text, "${")
	name, closed := strings.CutSuffix(name, "}")
	if near, wrong := wrongNodeName(name); opened && closed && wrong {
		c.unresolved(name, near, "no node has it", "", at)
	}
}

// comparisons returns the operators of both constraints and affinities.
func comparisons() []string {
	return []string{
		"=", "==", "is", "!=", "not", "<", "<=", ">", ">=",
		api.ConstraintRegex, api.ConstraintVersion, api.ConstraintSemver,
		api.ConstraintSetContains, api.ConstraintSetContainsAll, api.ConstraintSetContainsAny,
	}
}

// comparison checks an operator and its right operand.
func (c *checker) comparison(operand, value string, at jobspec.Path, known []string) {
	var err error
	switch operand {
	case api.ConstraintRegex:
		_, err = regexp.Compile(value)
	case api.ConstraintVersion:
		_, err = version.NewConstraint(value)
	case api.ConstraintSemver:
		err = parseSemverConstraint(value)
	default:
		if !c.choice(at.Attr("operator"), "operator", operand, known...) {
			return
		}
		c.required(at, value, fmt.Sprintf("operator %q needs a value", operand), "add value = …")
	}
	if err != nil {
		c.refuse(at.Attr("value"), fmt.Sprintf("invalid %s", operand), fmt.Sprintf("%q: %v", value, err), "")
	}
}

// parseSemverConstraint parses a list such as ">= 1.2.3, < 2.0.0". Unlike
// version constraints, it has no "~>", and each version must be complete.
// https://developer.hashicorp.com/nomad/docs/job-specification/constraint#operator-values
func parseSemverConstraint(list string) error {
	for part := range strings.SplitSeq(list, ",") {
		text := strings.TrimSpace(part)
		for _, op := range []string{"!=", ">=", "<=", "=", ">", "<"} {
			if rest, ok := strings.CutPrefix(text, op); ok {
				text = strings.TrimSpace(rest)
				break
			}
		}
		if _, err := version.NewSemver(text); err != nil {
			return err
		}
	}
	return nil
}

// unknownTarget explains why the scheduler cannot resolve an attribute, or
// returns "". Text without a leading "$" is a literal.
func unknownTarget(target string) string {
	switch {
	case !strings.HasPrefix(target, "$"):
		return ""
	case !strings.HasPrefix(target, "${"):
		return "has no opening brace"
	case !strings.HasSuffix(target, "}"):
		return "has no closing brace"
	case slices.Contains(nodeTargets(), target):
		return ""
	}
	for _, prefix := range []string{"${attr.", "${device.", "${meta."} {
		if strings.HasPrefix(target, prefix) {
			return ""
		}
	}
	return "is not known to the scheduler"
}

func nodeTargets() []string {
	return []string{"${node.unique.id}", "${node.unique.name}", "${node.datacenter}", "${node.class}", "${node.pool}"}
}

func targetHint(target string) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(target, "$"), "{"), "}")
	if !strings.HasPrefix(target, "${") || !strings.HasSuffix(target, "}") {
		return fmt.Sprintf("write %q", "${"+inner+"}")
	}
	return cmp.Or(diagnostic.DidYouMean(target, nodeTargets()), fmt.Sprintf("write %q, or one of ${node.*}, ${meta.*} and ${device.*}", "${attr."+inner+"}"))
}

func (c *checker) spread(s *api.Spread, at jobspec.Path) {
	c.required(at, s.Attribute, "spread has no attribute", `add attribute = "${node.datacenter}" or the like`)
	c.target(s.Attribute, at.Attr("attribute"))
	if w := deref(s.Weight); w <= 0 || w > 100 {
		c.wrong(at.Attr("weight"), "weight is out of range", fmt.Sprintf("it is %d", w), "write 1 to 100")
	}
	values := map[string]bool{}
	sum := 0
	for t, at := range blocks(s.SpreadTarget, "target", at) {
		if values[t.Value] {
			c.refuse(at, fmt.Sprintf("target %q is defined twice", t.Value), "", "remove one of them")
		}
		values[t.Value] = true
		if t.Percent > 100 {
			c.wrong(at.Attr("percent"), "percent is out of range", fmt.Sprintf("it is %d", t.Percent), "write 0 to 100")
		}
		sum += int(t.Percent)
	}
	if sum > 100 {
		c.refuse(at, "targets exceed 100 percent", fmt.Sprintf("they add up to %d", sum), "lower them")
	}
}
