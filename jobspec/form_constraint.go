package jobspec

import (
	"fmt"
	"math/big"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/decode"
	"taskrun/jobspec/diagnostic"
)

// constraintForm is the constraint block with its shorthands, which set the
// operator by their name.
//
// See https://developer.hashicorp.com/nomad/docs/job-specification/constraint.
type constraintForm struct {
	*api.Constraint

	Version          string `hcl:"version,optional"`
	Semver           string `hcl:"semver,optional"`
	Regexp           string `hcl:"regexp,optional"`
	SetContains      string `hcl:"set_contains,optional"`
	SetContainsAll   string `hcl:"set_contains_all,optional"`
	SetContainsAny   string `hcl:"set_contains_any,optional"`
	DistinctHosts    *bool  `hcl:"distinct_hosts,optional"`
	DistinctProperty string `hcl:"distinct_property,optional"`
	IsSet            string `hcl:"is_set,optional"`
	IsNotSet         string `hcl:"is_not_set,optional"`
}

// Finish applies the shorthands. Where several are given, the last one in this
// order wins, as in Nomad.
func (f *constraintForm) Finish(decode.Block) hcl.Diagnostics {
	c := f.Constraint
	shorthand(&c.Operand, &c.RTarget, api.ConstraintVersion, f.Version)
	shorthand(&c.Operand, &c.RTarget, api.ConstraintSemver, f.Semver)
	shorthand(&c.Operand, &c.RTarget, api.ConstraintRegex, f.Regexp)
	shorthand(&c.Operand, &c.RTarget, api.ConstraintSetContainsAny, f.SetContainsAny)
	shorthand(&c.Operand, &c.RTarget, api.ConstraintSetContainsAll, f.SetContainsAll)
	shorthand(&c.Operand, &c.RTarget, api.ConstraintSetContains, f.SetContains)
	shorthand(&c.Operand, &c.LTarget, api.ConstraintAttributeIsSet, f.IsSet)
	shorthand(&c.Operand, &c.LTarget, api.ConstraintAttributeIsNotSet, f.IsNotSet)
	if f.DistinctHosts != nil {
		shorthand(&c.Operand, &c.RTarget, api.ConstraintDistinctHosts, strconv.FormatBool(*f.DistinctHosts))
	}
	shorthand(&c.Operand, &c.LTarget, api.ConstraintDistinctProperty, f.DistinctProperty)
	if c.Operand == "" {
		c.Operand = "="
	}
	return nil
}

// affinityForm is the affinity block with its shorthands.
//
// See https://developer.hashicorp.com/nomad/docs/job-specification/affinity.
type affinityForm struct {
	*api.Affinity

	Version        string     `hcl:"version,optional"`
	Semver         string     `hcl:"semver,optional"`
	Regexp         string     `hcl:"regexp,optional"`
	SetContains    string     `hcl:"set_contains,optional"`
	SetContainsAll string     `hcl:"set_contains_all,optional"`
	SetContainsAny string     `hcl:"set_contains_any,optional"`
	Weight         *big.Float `hcl:"weight,optional"`
}

// Finish applies the shorthands and stores the weight, which Nomad cuts to 8
// bits without a word.
func (f *affinityForm) Finish(b decode.Block) hcl.Diagnostics {
	a := f.Affinity
	shorthand(&a.Operand, &a.RTarget, api.ConstraintVersion, f.Version)
	shorthand(&a.Operand, &a.RTarget, api.ConstraintSemver, f.Semver)
	shorthand(&a.Operand, &a.RTarget, api.ConstraintRegex, f.Regexp)
	shorthand(&a.Operand, &a.RTarget, api.ConstraintSetContainsAny, f.SetContainsAny)
	shorthand(&a.Operand, &a.RTarget, api.ConstraintSetContainsAll, f.SetContainsAll)
	shorthand(&a.Operand, &a.RTarget, api.ConstraintSetContains, f.SetContains)
	if a.Operand == "" {
		a.Operand = "="
	}
	if f.Weight == nil {
		return nil
	}
	whole, accuracy := f.Weight.Int64()
	weight := int8(whole)
	a.Weight = &weight
	if accuracy == big.Exact && int64(weight) == whole {
		return nil
	}
	return hcl.Diagnostics{diagnostic.Warning(b.At("weight"), fmt.Sprintf("the weight counts as %d", weight),
		fmt.Sprintf("%s is not a whole number from -128 to 127, and Nomad cuts it to one", f.Weight.Text('g', 10)),
		"write a whole number from -100 to 100")}
}

// shorthand sets the operator and its argument, if there is one.
func shorthand(operand, target *string, operator, argument string) {
	if argument != "" {
		*operand, *target = operator, argument
	}
}
