package validate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/cronexpr"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// periodic checks the periodic block. If it is not enabled, its content does
// not matter.
func (c *checker) periodic() {
	p := c.job.Periodic
	if p == nil {
		return
	}
	at := jobspec.Root.Attr("periodic")
	spec := deref(p.Spec)
	if spec != "" {
		c.hint(at.Attr("cron"), "cron is deprecated", "", fmt.Sprintf("write crons = [%q]", spec))
	}
	if p.Enabled != nil && !*p.Enabled {
		return
	}
	c.isFor(at, "periodic is for batch jobs", `write type = "batch" or "sysbatch"`, api.JobTypeBatch, api.JobTypeSysbatch)
	switch {
	case spec != "" && len(p.Specs) > 0:
		c.refuse(at, "cron and crons exclude each other", "", "keep crons")
	case spec == "" && len(p.Specs) == 0:
		c.refuse(at, "periodic has no cron expression", "", `add crons = ["@daily"]`)
	}
	c.timeZone(at.Attr("time_zone"), deref(p.TimeZone))
	if kind := deref(p.SpecType); kind != "" && kind != api.PeriodicSpecCron {
		c.refuse(at, "unknown kind of periodic expression", fmt.Sprintf("SpecType is %q", kind), `write "cron"`)
		return
	}
	if spec != "" {
		c.cron(at.Attr("cron"), spec)
	}
	for _, spec := range p.Specs {
		c.cron(at.Attr("crons"), spec)
	}
}

func (c *checker) parameterized() {
	p := c.job.ParameterizedJob
	if p == nil || c.job.Dispatched {
		return
	}
	at := jobspec.Root.Attr("parameterized")
	c.isFor(at, "parameterized is for batch jobs", `write type = "batch" or "sysbatch"`, api.JobTypeBatch, api.JobTypeSysbatch)
	c.choice(at.Attr("payload"), "payload requirement", p.Payload, "", "optional", "required", "forbidden")
	for _, key := range p.MetaOptional {
		if slices.Contains(p.MetaRequired, key) {
			c.refuse(at.Attr("meta_optional"), fmt.Sprintf("meta key %q is both required and optional", key), "",
				"list it in meta_required or in meta_optional")
		}
	}
}

// schedule checks the times when a task is paused.
// https://developer.hashicorp.com/nomad/docs/job-specification/schedule
func (t *task) schedule() {
	s := t.t.Schedule
	if s == nil {
		return
	}
	at := t.at.Attr("schedule")
	if s.Cron == nil {
		t.refuse(at, "schedule has no cron block", "", "add a cron block with a start and an end")
		return
	}
	at = at.Attr("cron")
	times := []struct {
		name, value, hint string
		fields            int
	}{
		{"start", s.Cron.Start, "30 9 * * MON-FRI *", 6},
		{"end", s.Cron.End, "30 17", 2},
	}
	for _, f := range times {
		if n := strings.Count(f.value, " ") + 1; n != f.fields {
			t.refuse(at.Attr(f.name), f.name+" of the schedule is malformed",
				fmt.Sprintf("%q should have %d fields, not %d", f.value, f.fields, n), fmt.Sprintf("write %q or the like", f.hint))
		} else if strings.ContainsAny(f.value, "/,") {
			t.refuse(at.Attr(f.name), f.name+" of the schedule is malformed", fmt.Sprintf("%q has a slash or a comma", f.value), fmt.Sprintf("write %q or the like", f.hint))
		}
	}
	t.timeZone(at.Attr("timezone"), s.Cron.Timezone)
}

func (c *checker) timeZone(at jobspec.Path, zone string) {
	if _, err := time.LoadLocation(zone); err != nil {
		c.wrong(at, "unknown time zone", fmt.Sprintf("%q", zone), `write a name such as "Europe/Berlin" or "UTC"`)
	}
}

func (c *checker) cron(at jobspec.Path, spec string) {
	err := parseCron(spec)
	if err == nil {
		return
	}
	remedy := "write five fields: minute hour day-of-month month day-of-week"
	if spec == "@reboot" {
		remedy = "write a time, such as @daily; a task that runs at every start belongs in a service or batch job"
	}
	c.wrong(at, "invalid cron expression", fmt.Sprintf("%q: %v", spec, err), remedy)
}

// parseCron converts the library's panics on some malformed texts to errors.
func parseCron(spec string) (err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("malformed expression")
		}
	}()
	_, err = cronexpr.Parse(spec)
	return err
}
