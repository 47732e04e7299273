package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

// findings collects diagnostics, with the rules that many values share.
type findings struct {
	diagnostics jobspec.Diagnostics
	seen        map[jobspec.Diagnostic]bool // an error in a block of the job recurs in every group that inherits the block
}

// refuse adds an error; warn and hint add what Nomad accepts.
func (f *findings) refuse(at jobspec.Path, summary, detail, remedy string) {
	f.say(jobspec.Error, at, summary, detail, remedy)
}

func (f *findings) warn(at jobspec.Path, summary, detail, remedy string) {
	f.say(jobspec.Warning, at, summary, detail, remedy)
}

func (f *findings) hint(at jobspec.Path, summary, detail, remedy string) {
	f.say(jobspec.Hint, at, summary, detail, remedy)
}

func (f *findings) say(severity jobspec.Severity, at jobspec.Path, summary, detail, remedy string) {
	f.report(jobspec.Diagnostic{Severity: severity, Summary: summary, Detail: detail, Remedy: remedy, Path: at})
}

// wrong refuses a value that is wrong whatever else its block says.
func (f *findings) wrong(at jobspec.Path, summary, detail, remedy string) {
	f.alone(jobspec.Error, at, summary, detail, remedy)
}

// alone adds a diagnostic of a value that is wrong whatever else its block says.
func (f *findings) alone(severity jobspec.Severity, at jobspec.Path, summary, detail, remedy string) {
	f.report(jobspec.Diagnostic{Severity: severity, Summary: summary, Detail: detail, Remedy: remedy, Path: at, Alone: true})
}

func (f *findings) report(p jobspec.Diagnostic) {
	if !f.seen[p] {
		f.seen[p] = true
		f.diagnostics = append(f.diagnostics, p)
	}
}

// choice refuses a value that is not allowed, and reports whether it is
// allowed. An empty value counts as missing, unless "" is allowed.
func (f *findings) choice(at jobspec.Path, name, value string, allowed ...string) bool {
	if slices.Contains(allowed, value) {
		return true
	}
	words := slices.DeleteFunc(slices.Clone(allowed), func(s string) bool { return s == "" })
	remedy := "write one of " + strings.Join(words, ", ")
	if len(words) == 1 {
		remedy = "write " + words[0]
	}
	if value == "" {
		f.refuse(at, name+" is missing", "", remedy)
		return false
	}
	f.wrong(at, "unknown "+name, fmt.Sprintf("%q", value), cmp.Or(diagnostic.DidYouMean(value, words), remedy))
	return false
}

// notNegative refuses a negative time, and notBelowZero a negative number.
func (f *findings) notNegative(at jobspec.Path, d *time.Duration) {
	if deref(d) < 0 {
		f.wrong(at, at.Name()+" is negative", fmt.Sprintf("it is %s", plain(*d)), "write 0s or more")
	}
}

func (f *findings) notBelowZero(at jobspec.Path, n int) {
	if n < 0 {
		f.wrong(at, at.Name()+" is negative", fmt.Sprintf("it is %d", n), "write 0 or more")
	}
}

func (f *findings) positive(at jobspec.Path, d time.Duration) {
	if d <= 0 {
		f.wrong(at, at.Name()+" is not positive", fmt.Sprintf("it is %s", plain(d)), "write a time above 0")
	}
}

// tooShort reports whether a time is below the minimum, and adds a diagnostic
// then.
func (f *findings) tooShort(severity jobspec.Severity, at jobspec.Path, what string, d, least time.Duration) bool {
	if d < least {
		f.alone(severity, at, what+" is too short", fmt.Sprintf("it is %s", plain(d)), fmt.Sprintf("write %s or more", plain(least)))
	}
	return d < least
}

// required refuses a block without a value.
func (f *findings) required(at jobspec.Path, value, summary, remedy string) {
	if value == "" {
		f.refuse(at, summary, "", remedy)
	}
}

// noEffect returns a hint about an attribute that is set.
func (f *findings) noEffect(at jobspec.Path, isSet bool, remedy string) {
	if isSet {
		f.hint(at, at.Name()+" has no effect", "", remedy)
	}
}

// oneOf refuses a block that has none or several of these parts.
func (f *findings) oneOf(at jobspec.Path, summary string, has ...bool) {
	switch n := len(slices.DeleteFunc(has, func(has bool) bool { return !has })); n {
	case 0:
		f.refuse(at, summary, "the block has none of them", "add one")
	case 1:
	default:
		f.refuse(at, summary, fmt.Sprintf("the block has %d of them", n), "keep one")
	}
}
