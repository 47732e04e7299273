package cmd

import (
	"fmt"
	"strconv"
	"time"
)

// auto is the value of a flag that is true, false, or left for the command to
// decide.
type auto string

// or returns the user's choice or, without one, otherwise.
func (a auto) or(otherwise bool) bool {
	if v, err := strconv.ParseBool(string(a)); err == nil {
		return v
	}
	return otherwise
}

// String, Set and Type make it the value of a flag.
func (a *auto) String() string { return string(*a) }

// Set accepts true, false and auto.
func (a *auto) Set(s string) error {
	if _, err := strconv.ParseBool(s); err != nil && s != "auto" {
		return fmt.Errorf("%q is not one of true, false, auto", s)
	}
	*a = auto(s)
	return nil
}

// Type names the value in help texts.
func (a *auto) Type() string { return "bool" }

// escapeChar is the value of --escape; 0 means none.
type escapeChar byte

// String, Set and Type make it the value of a flag.
func (c *escapeChar) String() string {
	if *c == 0 {
		return "none"
	}
	return string(rune(*c))
}

// Set accepts a character of ASCII, and none.
func (c *escapeChar) Set(s string) error {
	switch {
	case s == "none":
		*c = 0
	case len(s) == 1 && s[0] > ' ' && s[0] < 0x7f:
		*c = escapeChar(s[0])
	default:
		return fmt.Errorf("%q is neither one character nor none", s)
	}
	return nil
}

// Type names the value in help texts.
func (c *escapeChar) Type() string { return "character" }

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
