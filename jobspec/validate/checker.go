package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/taskenv"
)

// checker walks through a job and collects findings.
type checker struct {
	findings

	job     *api.Job
	written jobspec.Positions
	kind    string // the job's type
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
