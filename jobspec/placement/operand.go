package placement

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	version "github.com/hashicorp/go-version"
	"github.com/hashicorp/nomad/api"
)

// holds reports whether a constraint between two values holds; the node may
// lack either. It does not hold for values that the operator cannot parse.
func holds(operand, left string, leftOK bool, right string, rightOK bool) bool {
	switch operand {
	case "=", "==", "is", "":
		return leftOK && rightOK && left == right
	case "!=", "not": // a missing value is different from any other
		return leftOK != rightOK || left != right
	case api.ConstraintAttributeIsSet:
		return leftOK
	case api.ConstraintAttributeIsNotSet:
		return !leftOK
	}
	if !leftOK || !rightOK {
		return false
	}
	switch operand {
	case "<":
		return compare(left, right) < 0
	case "<=":
		return compare(left, right) <= 0
	case ">":
		return compare(left, right) > 0
	case ">=":
		return compare(left, right) >= 0
	case api.ConstraintRegex:
		re, err := regexp.Compile(right)
		return err == nil && re.MatchString(left)
	case api.ConstraintVersion:
		v, err := version.NewVersion(left)
		return err == nil && satisfies(v, right)
	case api.ConstraintSemver:
		v, err := version.NewSemver(left)
		return err == nil && satisfies(v, right)
	case api.ConstraintSetContains, api.ConstraintSetContainsAll:
		have := set(left)
		return !slices.ContainsFunc(set(right), func(s string) bool { return !slices.Contains(have, s) })
	case api.ConstraintSetContainsAny:
		have := set(left)
		return slices.ContainsFunc(set(right), func(s string) bool { return slices.Contains(have, s) })
	default:
		return false // validation has refused it
	}
}

// compare compares two values as integers, or else as numbers, or else as text.
func compare(left, right string) int {
	if a, err := strconv.ParseInt(left, 10, 64); err == nil {
		if b, err := strconv.ParseInt(right, 10, 64); err == nil {
			return cmp.Compare(a, b)
		}
	}
	if a, err := strconv.ParseFloat(left, 64); err == nil {
		if b, err := strconv.ParseFloat(right, 64); err == nil {
			return cmp.Compare(a, b)
		}
	}
	return strings.Compare(left, right)
}

func satisfies(v *version.Version, constraint string) bool {
	c, err := version.NewConstraint(constraint)
	return err == nil && c.Check(v)
}

func set(list string) []string {
	elements := strings.Split(list, ",")
	for i := range elements {
		elements[i] = strings.TrimSpace(elements[i])
	}
	return elements
}
