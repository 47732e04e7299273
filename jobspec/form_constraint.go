package jobspec

import (
	"cmp"
	"fmt"
	"math/big"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/decode"
	"taskrun/jobspec/diagnostic"
)

// condition holds the attributes that constraints and affinities share. As in
// Nomad, each may be null. Attributes with the name of an operator are shorthands.
type condition struct {
	Attribute      *string `hcl:"attribute,optional"`
	Operator       *string `hcl:"operator,optional"`
	Value          *string `hcl:"value,optional"`
	Version        *string `hcl:"version,optional"`
	Semver         *string `hcl:"semver,optional"`
	Regexp         *string `hcl:"regexp,optional"`
	SetContains    *string `hcl:"set_contains,optional"`
	SetContainsAll *string `hcl:"set_contains_all,optional"`
	SetContainsAny *string `hcl:"set_contains_any,optional"`
}

// apply sets the operator and its arguments. As in Nomad, the last shorthand in
// this order wins.
func (s *condition) apply(subject, operand, target *string) {
	*subject, *operand, *target = deref(s.Attribute), deref(s.Operator), deref(s.Value)
	shorthand(operand, target, api.ConstraintVersion, s.Version)
	shorthand(operand, target, api.ConstraintSemver, s.Semver)
	shorthand(operand, target, api.ConstraintRegex, s.Regexp)
	shorthand(operand, target, api.ConstraintSetContainsAny, s.SetContainsAny)
	shorthand(operand, target, api.ConstraintSetContainsAll, s.SetContainsAll)
	shorthand(operand, target, api.ConstraintSetContains, s.SetContains)
}

// constraintForm is the constraint block with its shorthands.
//
// See https://developer.hashicorp.com/nomad/docs/job-specification/constraint.
type constraintForm struct {
	condition // hides the same attributes of api.Constraint
	*api.Constraint

	DistinctHosts    *bool   `hcl:"distinct_hosts,optional"`
	DistinctProperty *string `hcl:"distinct_property,optional"`
	IsSet            *string `hcl:"is_set,optional"`
	IsNotSet         *string `hcl:"is_not_set,optional"`
}

// Finish applies the shorthands.
func (f *constraintForm) Finish(decode.Block) hcl.Diagnostics {
	c := f.Constraint
	f.apply(&c.LTarget, &c.Operand, &c.RTarget)
	shorthand(&c.Operand, &c.LTarget, api.ConstraintAttributeIsSet, f.IsSet)
	shorthand(&c.Operand, &c.LTarget, api.ConstraintAttributeIsNotSet, f.IsNotSet)
	if f.DistinctHosts != nil {
		c.Operand, c.RTarget = api.ConstraintDistinctHosts, strconv.FormatBool(*f.DistinctHosts)
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
	condition // hides the same attributes of api.Affinity
	*api.Affinity

	Weight *big.Float `hcl:"weight,optional"`
}

// Finish applies the shorthands and stores the weight, which Nomad silently
// truncates to 8 bits.
func (f *affinityForm) Finish(b decode.Block) hcl.Diagnostics {
	a := f.Affinity
	f.apply(&a.LTarget, &a.Operand, &a.RTarget)
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
func shorthand(operand, target *string, operator string, argument *string) {
	if a := deref(argument); a != "" {
		*operand, *target = operator, a
	}
}

func deref(s *string) string { return *cmp.Or(s, new(string)) }
