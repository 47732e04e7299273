package verdict

import (
	"fmt"
	"strings"
	"time"
)

// untilRunning is how long tasks must run for --until running, like Nomad's
// min_healthy_time.
const untilRunning = 10 * time.Second

// Until is the value of --until: running, running=<duration>, or healthy.
type Until struct {
	Running time.Duration // 0: not given
	Healthy bool
}

// String returns the value of the flag.
func (u *Until) String() string {
	switch {
	case u.Healthy:
		return "healthy"
	case u.Running == 0:
		return ""
	}
	return "running=" + u.Running.String()
}

// Set parses running, running=<duration> and healthy.
func (u *Until) Set(s string) error {
	*u = Until{}
	if s == "healthy" {
		u.Healthy = true
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
			return fmt.Errorf("%v is not a positive duration", d)
		}
	}
	u.Running = d
	return nil
}

// Type returns the name of the value in help texts.
func (u *Until) Type() string { return "running[=10s]|healthy" }
