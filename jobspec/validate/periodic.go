package validate

import (
	"fmt"
	"time"

	"github.com/hashicorp/cronexpr"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// periodic checks the block of a job that is launched by the clock; one that is
// not enabled may hold anything.
func (w *whole) periodic() {
	p := w.job.Periodic
	if p == nil {
		return
	}
	at := jobspec.Root.Attr("periodic")
	spec := deref(p.Spec)
	if spec != "" {
		w.hint(at.Attr("cron"), "cron is deprecated", "", fmt.Sprintf("write crons = [%q]", spec))
	}
	if p.Enabled != nil && !*p.Enabled {
		return
	}
	if !w.mayBe(api.JobTypeBatch, api.JobTypeSysbatch) {
		w.refuse(at, "periodic is for batch jobs", fmt.Sprintf("the job's type is %q", w.kind), `write type = "batch" or "sysbatch"`)
	}
	switch {
	case spec != "" && len(p.Specs) > 0:
		w.refuse(at, "cron and crons exclude each other", "", "keep crons")
	case spec == "" && len(p.Specs) == 0:
		w.refuse(at, "periodic has no cron expression", "", `add crons = ["@daily"]`)
	}
	if zone := deref(p.TimeZone); zone != "" {
		if _, err := time.LoadLocation(zone); err != nil {
			w.refuse(at.Attr("time_zone"), "unknown time zone", fmt.Sprintf("%q: %v", zone, err), `write a name such as "Europe/Berlin" or "UTC"`)
		}
	}
	if kind := deref(p.SpecType); kind != "" && kind != api.PeriodicSpecCron {
		w.refuse(at, "unknown kind of periodic expression", fmt.Sprintf("SpecType is %q", kind), `write "cron"`)
		return
	}
	if spec != "" {
		w.cron(at.Attr("cron"), spec)
	}
	for _, spec := range p.Specs {
		w.cron(at.Attr("crons"), spec)
	}
}

func (w *whole) cron(at jobspec.Path, spec string) {
	err := parseCron(spec)
	if err == nil {
		return
	}
	remedy := "write five fields: minute hour day-of-month month day-of-week"
	if spec == "@reboot" {
		remedy = "write a time, such as @daily; a task that runs at every start belongs in a service or batch job"
	}
	w.refuse(at, "invalid cron expression", fmt.Sprintf("%q: %v", spec, err), remedy)
}

// parseCron turns the library's panics on some malformed texts into errors.
func parseCron(spec string) (err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("malformed expression")
		}
	}()
	_, err = cronexpr.Parse(spec)
	return err
}
