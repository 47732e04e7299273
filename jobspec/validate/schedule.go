package validate

import (
	"fmt"
	"strings"
	"time"
)

// schedule checks the times at which a task is paused.
// https://developer.hashicorp.com/nomad/docs/job-specification/schedule
func (t *task) schedule() {
	s := t.t.Schedule
	if s == nil {
		return
	}
	at := t.at.Attr("schedule")
	if s.Cron == nil {
		t.refuse(at, "schedule has no cron block", "", `add cron { start = "…" end = "…" }`)
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
				fmt.Sprintf("%q has %d fields, not %d", f.value, n, f.fields), fmt.Sprintf("write %q or the like", f.hint))
		} else if strings.ContainsAny(f.value, "/,") {
			t.refuse(at.Attr(f.name), f.name+" of the schedule is malformed", fmt.Sprintf("%q has a slash or a comma", f.value), fmt.Sprintf("write %q or the like", f.hint))
		}
	}
	if zone := s.Cron.Timezone; zone != "" {
		if _, err := time.LoadLocation(zone); err != nil {
			t.refuse(at.Attr("timezone"), "unknown time zone", fmt.Sprintf("%q: %v", zone, err), `write a name such as "Europe/Berlin" or "UTC"`)
		}
	}
}
