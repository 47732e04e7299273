package preflight

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

const mockDriver = "mock_driver"

// untilStopped is a run_for that no run outlasts.
const untilStopped time.Duration = math.MaxInt64

// mockTask makes a task whose driver mock_driver replaces behave like the original
// if all goes well: without a run_for, it runs until it is stopped, or succeeds at
// once. The task must have a config of its own.
func mockTask(j *api.Job, t *api.Task) {
	if t.Config["run_for"] != nil || !runsOn(j, t) {
		return
	}
	if t.Config == nil {
		t.Config = map[string]any{}
	}
	t.Config["run_for"] = untilStopped.String()
}

// runsOn reports whether a task normally runs until it is stopped: a main task of a
// service or system job, or a sidecar.
func runsOn(j *api.Job, t *api.Task) bool {
	if t.Lifecycle != nil {
		return t.Lifecycle.Sidecar
	}
	return *j.Type == api.JobTypeService || *j.Type == api.JobTypeSystem
}

// mockNotice says what a task does whose driver mock_driver has replaced.
func (r replaced) mockNotice(t taskOf) jobspec.Diagnostic {
	does := "succeeds immediately"
	switch {
	case t.Config["run_for"] == untilStopped.String():
		does = "runs until it is stopped"
	case len(t.Config) > 0:
		does = "follows its config block"
	}
	p := jobspec.Diagnostic{
		Severity: jobspec.Notice,
		Summary:  fmt.Sprintf("task %q of driver %q starts nothing: with mock_driver it %s", t.Name, r.driver, does),
		Path:     t.at.Attr("driver"),
	}
	if len(r.left) > 0 {
		p.Detail = "ignored options: " + strings.Join(r.left, ", ")
	}
	return p
}
