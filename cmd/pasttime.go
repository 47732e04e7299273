package cmd

import (
	"fmt"
	"time"
)

// pastTime is the value of a flag that takes a time in the past, also as how long
// ago it was.
type pastTime struct{ to *time.Time }

// String returns the time that is set.
func (p pastTime) String() string {
	if p.to == nil || p.to.IsZero() { // as pflag asks
		return ""
	}
	return p.to.Format(time.RFC3339Nano)
}

// Set accepts a duration, or a time of RFC 3339.
func (p pastTime) Set(text string) error {
	now := time.Now()
	at, err := time.Parse(time.RFC3339, text)
	if ago, noDuration := time.ParseDuration(text); noDuration == nil {
		at, err = now.Add(-ago), nil
	}
	switch {
	case err != nil:
		return fmt.Errorf("%q is neither a duration, such as 5m, nor a time, such as %s", text, now.Add(-5*time.Minute).Format(time.RFC3339))
	case at.After(now):
		return fmt.Errorf("%q is in the future", text)
	}
	*p.to = at
	return nil
}

// Type names the value in help texts.
func (p pastTime) Type() string { return "time" }
