package cmd

import (
	"fmt"
	"strings"
	"time"
)

// untilRunning is how long --until waits unless it says otherwise, as Nomad's
// min_healthy_time does.
const untilRunning = 10 * time.Second

// until is the value of --until: running, running=<duration>, or healthy.
type until struct {
	running time.Duration // 0: not given
	healthy bool
}

// String, Set and Type make it the value of a flag.
func (u *until) String() string {
	switch {
	case u.healthy:
		return "healthy"
	case u.running == 0:
		return ""
	}
	return "running=" + u.running.String()
}

// Set accepts running, running=<duration> and healthy.
func (u *until) Set(s string) error {
	*u = until{}
	if s == "healthy" {
		u.healthy = true
		return nil
	}
	what, text, given := strings.Cut(s, "=")
	if what != "running" {
		return fmt.Errorf("%q is not running, running=10s or healthy", s)
	}
	d := untilRunning
	if given {
		var err error
		if d, err = time.ParseDuration(text); err != nil {
			return err
		}
		if d <= 0 {
			return fmt.Errorf("%v is no time to run", d)
		}
	}
	u.running = d
	return nil
}

// Type names the value in help texts.
func (u *until) Type() string { return "running[=10s]|healthy" }
