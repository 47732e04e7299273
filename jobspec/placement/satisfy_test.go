package placement

import (
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/taskenv"
)

// TestGaps: constraints hold with the values of their gaps.
func TestGaps(t *testing.T) {
	t.Parallel()
	node := &taskenv.Node{Class: "small", Meta: map[string]string{"has": "1"}}
	for _, c := range []struct{ operand, right, want string }{
		{"=", "r1", "r1"},
		{"", "r1", "r1"},
		{"<", "10", "9"},
		{"<=", "10", "10"},
		{">", "10", "11"},
		{">", "abc", "abc0"},
		{api.ConstraintVersion, ">= 1.2.3, < 2.0", "1.2.3"},
		{api.ConstraintVersion, "> 1.2.3", "1.2.4"},
		{api.ConstraintVersion, "~> 1.2", "1.2.0"},
		{api.ConstraintSemver, "< 1.2.3", "1.2.2"},
		{api.ConstraintRegex, "^(r|q)[0-9]{2}-.+$", "q00-x"},
		{api.ConstraintRegex, "ssd", "ssd"},
		{api.ConstraintRegex, "^(?:one|two)-.$", "one-x"},
		{api.ConstraintSetContains, "a, b", "a, b"},
		{api.ConstraintSetContainsAny, "a,b", "a,b"},
		{api.ConstraintAttributeIsSet, "", "1"},
	} {
		job := &api.Job{Constraints: []*api.Constraint{{LTarget: "${meta.x}", Operand: c.operand, RTarget: c.right}}}
		gaps := Gaps(job, node)
		if len(gaps) != 1 || !gaps[0].Satisfied || gaps[0].Value != c.want || gaps[0].Name != "meta.x" {
			t.Errorf("%s %q: %+v", c.operand, c.right, gaps)
			continue
		}
		fixed := &taskenv.Node{Meta: map[string]string{"x": gaps[0].Value}}
		if left := Check(job, fixed); len(left) > 0 {
			t.Errorf("%s %q fails with %q: %v", c.operand, c.right, gaps[0].Value, left)
		}
	}
	none := []*api.Constraint{
		{LTarget: "${meta.has}", Operand: "=", RTarget: "1"},
		{Operand: api.ConstraintDistinctHosts},
		{LTarget: "${meta.none}", Operand: api.ConstraintAttributeIsNotSet},
	}
	if gaps := Gaps(&api.Job{Constraints: none}, node); len(gaps) > 0 {
		t.Errorf("there are gaps: %+v", gaps)
	}
	both := []*api.Constraint{
		{LTarget: "${node.class}", Operand: api.ConstraintRegex, RTarget: "^big"},
		{LTarget: "${node.class}", Operand: "=", RTarget: "big-1"},
	}
	if gaps := Gaps(&api.Job{Constraints: both}, node); len(gaps) != 1 || gaps[0].Value != "big-1" || gaps[0].Has != "small" || !gaps[0].Measured {
		t.Errorf("of two constraints: %+v", gaps)
	}
	either := []*api.Constraint{
		{LTarget: "${node.class}", Operand: "=", RTarget: "a"},
		{LTarget: "${node.class}", Operand: "=", RTarget: "b"},
	}
	if gaps := Gaps(&api.Job{Constraints: either}, node); len(gaps) != 1 || gaps[0].Value != "a" {
		t.Errorf("of two that exclude each other: %+v", gaps)
	}
	impossible := []*api.Constraint{{LTarget: "${meta.x}", Operand: api.ConstraintRegex, RTarget: "("}}
	if gaps := Gaps(&api.Job{Constraints: impossible}, node); len(gaps) != 1 || gaps[0].Satisfied {
		t.Errorf("of an impossible one: %+v", gaps)
	}
}
