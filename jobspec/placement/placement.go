// Package placement checks whether a job could be placed on a node, and which
// of its constraints fail there. See
// https://developer.hashicorp.com/nomad/docs/job-specification/constraint.
package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/taskenv"
)

// Check returns a warning for each constraint of a canonicalized job, its
// groups and its tasks that the node fails. Constraints that compare several
// nodes (distinct_hosts, distinct_property) are ignored: they hold on a single
// node as long as nothing else runs there.
func Check(job *api.Job, node *taskenv.Node) (diagnostics jobspec.Diagnostics) {
	failed(job, node, func(c *api.Constraint, reason string, at jobspec.Path) {
		diagnostics = append(diagnostics, jobspec.Diagnostic{
			Severity: jobspec.Warning,
			Summary:  fmt.Sprintf("this machine fails the constraint %s", describe(c)),
			Detail:   reason,
			Remedy:   "on a cluster the job would run on another node; here it runs all the same",
			Path:     at,
		})
	})
	return diagnostics
}

// Unknown returns an error for each constraint that fails because a value is
// neither measured nor stubbed, so it is unknown whether a node of a cluster
// would pass.
func Unknown(job *api.Job, node *taskenv.Node) (diagnostics jobspec.Diagnostics) {
	failed(job, node, func(c *api.Constraint, _ string, at jobspec.Path) {
		for _, target := range []string{c.LTarget, c.RTarget} {
			if _, ok := node.Lookup(target); ok || target == "" {
				continue
			}
			p := jobspec.Diagnostic{
				Summary: fmt.Sprintf("the constraint %s needs %q, which is not set: no stub defines it", describe(c), target),
				Remedy:  "add to taskrun.hcl: " + nodeStub(target),
				Path:    at,
			}
			if kind, _, _ := strings.Cut(target, "."); !slices.Contains([]string{"${node", "${attr", "${meta"}, kind) {
				p.Summary = fmt.Sprintf("the constraint %s needs %q, which no node has", describe(c), target)
				p.Detail, p.Remedy = "constraints can use ${node…}, ${attr…} and ${meta…}: no cluster would place the job", ""
			}
			diagnostics = append(diagnostics, p)
			return
		}
	})
	return diagnostics
}

// nodeStub returns the stubs block that would give a node the value.
func nodeStub(target string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(target, "${"), "}")
	if key, ok := strings.CutPrefix(name, "meta."); ok {
		return fmt.Sprintf("node { meta = { %q = \"…\" } }", key)
	}
	if key, ok := strings.CutPrefix(name, "attr."); ok {
		return fmt.Sprintf("node { attributes = { %q = \"…\" } }", key)
	}
	return fmt.Sprintf("node { %s = \"…\" }", strings.TrimPrefix(name, "node."))
}

// failed calls f with each constraint that the node fails.
func failed(job *api.Job, node *taskenv.Node, f func(c *api.Constraint, reason string, at jobspec.Path)) {
	eachConstraint(job, func(c *api.Constraint, at jobspec.Path) {
		if reason := failure(c, node); reason != "" {
			f(c, reason, at)
		}
	})
}

// eachConstraint calls f with each constraint of a job, its groups and its tasks.
func eachConstraint(job *api.Job, f func(c *api.Constraint, at jobspec.Path)) {
	each := func(constraints []*api.Constraint, at jobspec.Path) {
		for i, c := range constraints {
			f(c, at.Index("constraint", i))
		}
	}
	each(job.Constraints, jobspec.Root)
	for i, g := range job.TaskGroups {
		group := jobspec.Root.Index("group", i)
		each(g.Constraints, group)
		for j, t := range g.Tasks {
			each(t.Constraints, group.Index("task", j))
		}
	}
}

func describe(c *api.Constraint) string {
	switch c.Operand {
	case api.ConstraintAttributeIsSet, api.ConstraintAttributeIsNotSet:
		return fmt.Sprintf("%q %s", c.LTarget, c.Operand)
	default:
		return fmt.Sprintf("%q %s %q", c.LTarget, c.Operand, c.RTarget)
	}
}

// failure returns why the node fails a constraint, or "".
func failure(c *api.Constraint, node *taskenv.Node) string {
	if c.Operand == api.ConstraintDistinctHosts || c.Operand == api.ConstraintDistinctProperty {
		return ""
	}
	left, leftOK := node.Lookup(c.LTarget)
	right, rightOK := node.Lookup(c.RTarget)
	if holds(c.Operand, left, leftOK, right, rightOK) {
		return ""
	}
	switch {
	case !leftOK && !rightOK:
		return fmt.Sprintf("it has neither %q nor %q", c.LTarget, c.RTarget)
	case !leftOK:
		return fmt.Sprintf("it has no %q", c.LTarget)
	case !rightOK && c.RTarget != "":
		return fmt.Sprintf("it has no %q", c.RTarget)
	case left != c.LTarget:
		return fmt.Sprintf("%q is %q here", c.LTarget, left)
	default:
		return fmt.Sprintf("%q is %q here", c.RTarget, right)
	}
}
