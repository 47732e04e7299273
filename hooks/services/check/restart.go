package check

import (
	"time"

	"github.com/hashicorp/nomad/api"
)

// Restart decides when an unhealthy check restarts its task, as Nomad's
// check_restart does. It is pure: time is an argument.
//
// Nomad's limit is a time in disguise: a check that has been unhealthy for its
// interval times limit-1, counted from the first look after the grace, fires.
type Restart struct {
	patience time.Duration // that an unhealthy check is given
	graceEnd time.Time
	since    time.Time // when it was first seen unhealthy; zero: it is not
}

// NewRestart returns the watch of a check that begins now; false: the check
// restarts nothing.
func NewRestart(c *api.ServiceCheck, now time.Time) (Restart, bool) {
	r := c.CheckRestart
	if r == nil || r.Limit <= 0 {
		return Restart{}, false
	}
	grace := time.Second // Nomad's default
	if r.Grace != nil {
		grace = *r.Grace
	}
	return Restart{patience: c.Interval * time.Duration(r.Limit-1), graceEnd: now.Add(grace)}, true
}

// Step adds the current status of the check. It returns the next watch, whether to
// restart, and when to call Step again if the status does not change; zero means
// never.
func (r Restart) Step(unhealthy bool, now time.Time) (next Restart, fire bool, again time.Time) {
	switch {
	case !unhealthy:
		r.since = time.Time{}
		return r, false, time.Time{}
	case now.Before(r.graceEnd):
		return r, false, r.graceEnd
	case r.since.IsZero():
		r.since = now
	}
	at := r.since.Add(r.patience)
	return r, !now.Before(at), at
}
