// Package validate checks a decoded job against the rules that Nomad applies
// when a job is registered, and says everything that breaks them at once. It
// looks at the job alone: not at the machine, not at files, and not at what the
// drivers make of their config blocks.
//
// The rules are those of the job specification,
// https://developer.hashicorp.com/nomad/docs/job-specification.
package validate

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// Job checks a job on which Canonicalize was called and returns every fault in
// the order of the job, each with its Path and without a Range, which
// File.Place adds. The job is not changed.
//
// An Error is what a Nomad server refuses, or what it accepts and what is then
// certain to fail. A Warning is what it accepts and drops, ignores or resolves
// otherwise than it reads. A Hint is advice: Nomad runs the job as it is written,
// and a newer form or an attribute more would serve it better.
//
// Written are the positions of the job in its source. They tell an attribute
// that is written from one that is not; without them the latter is assumed of
// those that are zero.
func Job(job *api.Job, written jobspec.Positions) jobspec.Diagnostics {
	c := &checker{job: job, written: written, kind: deref(job.Type), seen: map[jobspec.Diagnostic]bool{}}
	w := &whole{c}
	w.identification()
	w.placement(job.Constraints, job.Affinities, job.Spreads, jobspec.Root)
	w.periodic()
	w.parameterized()
	w.interpolations()
	w.groups()
	w.autoPromote()
	return c.diagnostics
}

// whole checks what belongs to the job as a whole.
type whole struct{ *checker }

// checker walks one job and collects what it finds.
type checker struct {
	job         *api.Job
	written     jobspec.Positions
	kind        string // the job's type
	diagnostics jobspec.Diagnostics
	seen        map[jobspec.Diagnostic]bool // a fault of a job's block shows in every group that inherits it
}

func (c *checker) refuse(at jobspec.Path, summary, detail, remedy string) {
	c.report(jobspec.Diagnostic{Severity: jobspec.Error, Summary: summary, Detail: detail, Remedy: remedy, Path: at})
}

func (c *checker) warn(at jobspec.Path, summary, detail, remedy string) {
	c.report(jobspec.Diagnostic{Severity: jobspec.Warning, Summary: summary, Detail: detail, Remedy: remedy, Path: at})
}

func (c *checker) hint(at jobspec.Path, summary, detail, remedy string) {
	c.report(jobspec.Diagnostic{Severity: jobspec.Hint, Summary: summary, Detail: detail, Remedy: remedy, Path: at})
}

func (c *checker) report(p jobspec.Diagnostic) {
	if !c.seen[p] {
		c.seen[p] = true
		c.diagnostics = append(c.diagnostics, p)
	}
}

// mayBe reports whether the job is of one of the types. A job of unknown type
// may be any: one misspelt word should not make every block of the job wrong.
func (c *checker) mayBe(types ...string) bool {
	return slices.Contains(types, c.kind) || !slices.Contains(jobTypes(), c.kind)
}

// deref returns what p points to, or the zero value where a job that came from
// JSON has null.
func deref[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

// orEmpty stands in for the null elements that JSON allows in a list. An empty
// block breaks the rules of its kind, so it is reported like any other.
func orEmpty[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}

// plain returns a duration as one would write it: "1m", not "1m0s".
func plain(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"0s", "0m"} {
		if short, ok := strings.CutSuffix(text, zero); ok && short != "" && strings.ContainsAny(short[len(short)-1:], "hm") {
			text = short
		}
	}
	return text
}

// same reports whether both are set, to the same value.
func same[T comparable](a, b *T) bool {
	return a != nil && b != nil && *a == *b
}
