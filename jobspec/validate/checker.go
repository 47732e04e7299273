package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/taskenv"
)

// checker walks through a job and collects diagnostics.
type checker struct {
	job         *api.Job
	written     jobspec.Positions
	kind        string // the job's type
	diagnostics jobspec.Diagnostics
	seen        map[jobspec.Diagnostic]bool // an error in a block of the job recurs in every group that inherits the block
}

func (c *checker) refuse(at jobspec.Path, summary, detail, remedy string) {
	c.say(jobspec.Error, at, summary, detail, remedy)
}

func (c *checker) warn(at jobspec.Path, summary, detail, remedy string) {
	c.say(jobspec.Warning, at, summary, detail, remedy)
}

func (c *checker) hint(at jobspec.Path, summary, detail, remedy string) {
	c.say(jobspec.Hint, at, summary, detail, remedy)
}

func (c *checker) say(severity jobspec.Severity, at jobspec.Path, summary, detail, remedy string) {
	c.report(jobspec.Diagnostic{Severity: severity, Summary: summary, Detail: detail, Remedy: remedy, Path: at})
}

// wrong refuses a value that is wrong whatever else its block says.
func (c *checker) wrong(at jobspec.Path, summary, detail, remedy string) {
	c.alone(jobspec.Error, at, summary, detail, remedy)
}

// alone adds a diagnostic of a value that is wrong whatever else its block says.
func (c *checker) alone(severity jobspec.Severity, at jobspec.Path, summary, detail, remedy string) {
	c.report(jobspec.Diagnostic{Severity: severity, Summary: summary, Detail: detail, Remedy: remedy, Path: at, Alone: true})
}

func (c *checker) report(p jobspec.Diagnostic) {
	if !c.seen[p] {
		c.seen[p] = true
		c.diagnostics = append(c.diagnostics, p)
	}
}

// choice refuses a value that is not allowed, and reports whether it is
// allowed. An empty value counts as missing, unless "" is allowed.
func (c *checker) choice(at jobspec.Path, name, value string, allowed ...string) bool {
	if slices.Contains(allowed, value) {
		return true
	}
	words := slices.DeleteFunc(slices.Clone(allowed), func(s string) bool { return s == "" })
	list := strings.Join(words, ", ")
	if value == "" {
		c.refuse(at, name+" is missing", "", "write one of "+list)
		return false
	}
	c.wrong(at, "unknown "+name, fmt.Sprintf("%q", value), cmp.Or(diagnostic.DidYouMean(value, words), "write one of "+list))
	return false
}

// notNegative refuses a negative time, and notBelowZero a negative number.
func (c *checker) notNegative(at jobspec.Path, d *time.Duration) {
	if deref(d) < 0 {
		c.wrong(at, at.Name()+" is negative", fmt.Sprintf("it is %s", plain(*d)), "write 0s or more")
	}
}

func (c *checker) notBelowZero(at jobspec.Path, n int) {
	if n < 0 {
		c.wrong(at, at.Name()+" is negative", fmt.Sprintf("it is %d", n), "write 0 or more")
	}
}

func (c *checker) positive(at jobspec.Path, d time.Duration) {
	if d <= 0 {
		c.wrong(at, at.Name()+" is not positive", fmt.Sprintf("it is %s", plain(d)), "write a time above 0")
	}
}

// tooShort reports whether a time is below the minimum, and adds a diagnostic
// then.
func (c *checker) tooShort(severity jobspec.Severity, at jobspec.Path, what string, d, least time.Duration) bool {
	if d < least {
		c.alone(severity, at, what+" is too short", fmt.Sprintf("it is %s", plain(d)), fmt.Sprintf("write %s or more", plain(least)))
	}
	return d < least
}

// required refuses a block without a value.
func (c *checker) required(at jobspec.Path, value, summary, remedy string) {
	if value == "" {
		c.refuse(at, summary, "", remedy)
	}
}

// noEffect returns a hint about an attribute that is set.
func (c *checker) noEffect(at jobspec.Path, isSet bool, remedy string) {
	if isSet {
		c.hint(at, at.Name()+" has no effect", "", remedy)
	}
}

// oneOf refuses a block that has none or several of these parts.
func (c *checker) oneOf(at jobspec.Path, summary string, has ...bool) {
	has = slices.DeleteFunc(has, func(has bool) bool { return !has })
	if len(has) != 1 {
		c.refuse(at, summary, fmt.Sprintf("the block has %d of them", len(has)), "keep or add one")
	}
}

func jobTypes() []string {
	return []string{api.JobTypeService, api.JobTypeBatch, api.JobTypeSystem, api.JobTypeSysbatch}
}

// isFor refuses what is for jobs of the given types, and reports whether it is fine. A
// job of unknown type may have it: one misspelled word should not make every block of
// the job wrong.
func (c *checker) isFor(at jobspec.Path, summary, remedy string, types ...string) bool {
	if slices.Contains(types, c.kind) || !slices.Contains(jobTypes(), c.kind) {
		return true
	}
	c.refuse(at, summary, fmt.Sprintf("the job's type is %q", c.kind), remedy)
	return false
}

// signal refuses a name that no driver knows. A Nomad client would silently
// send SIGINT instead.
func (c *checker) signal(at jobspec.Path, name string) {
	if name == "" {
		return
	}
	known := strings.Split(taskenv.SignalNames, ",")
	if slices.Contains(known, name) {
		return
	}
	if hasReference(name) {
		c.warn(at, "a signal cannot be a reference", fmt.Sprintf("%q stays as it is written", name), "write a name such as SIGINT, SIGTERM or SIGHUP")
		return
	}
	upper := strings.ToUpper(name)
	remedy := cmp.Or(diagnostic.DidYouMean(name, known), "write a name such as SIGINT, SIGTERM or SIGHUP")
	switch {
	case slices.Contains(known, upper):
		remedy = fmt.Sprintf("write %q", upper)
	case slices.Contains(known, "SIG"+upper):
		remedy = fmt.Sprintf("write %q", "SIG"+upper)
	}
	c.wrong(at, "unknown signal", fmt.Sprintf("%q", name), remedy)
}

// changeSignal checks the signal of a change mode, which may be in lower case,
// and that the mode uses one.
func (c *checker) changeSignal(at jobspec.Path, mode, name string) {
	if mode == "signal" && name == "" {
		c.refuse(at, "change_signal is missing", `change_mode is "signal"`, `add change_signal = "SIGHUP" or the like`)
	}
	c.signal(at.Attr("change_signal"), strings.ToUpper(name))
}
