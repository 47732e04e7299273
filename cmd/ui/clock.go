package ui

import (
	"fmt"
	"time"
)

// TimeFormat is how the time of a line is shown, the value of --time.
type TimeFormat string

// The values of --time.
const (
	TimeClock   TimeFormat = "clock"   // 15:04:05.000, local
	TimeElapsed TimeFormat = "elapsed" // seconds since the run began: 1.234
	TimeISO     TimeFormat = "iso"     // RFC 3339 in milliseconds, local
	TimeNone    TimeFormat = "none"
)

// String, Set and Type make it the value of a flag.
func (f *TimeFormat) String() string { return string(*f) }

// Set accepts the name of a format.
func (f *TimeFormat) Set(s string) error {
	switch format := TimeFormat(s); format {
	case TimeClock, TimeElapsed, TimeISO, TimeNone:
		*f = format
		return nil
	}
	return oneOf(s, string(TimeClock), string(TimeElapsed), string(TimeISO), string(TimeNone))
}

// Type names the value in help texts.
func (f *TimeFormat) Type() string { return "format" }

// clock writes times.
type clock struct {
	format TimeFormat
	begin  time.Time
	narrow bool // no room for fractions of a second
}

// text returns a time as it stands at the beginning of a line, or "".
func (c *clock) text(t time.Time) string {
	switch c.format {
	case TimeNone:
		return ""
	case TimeElapsed:
		return fmt.Sprintf("%7.3f", max(0, t.Sub(c.begin)).Seconds())
	case TimeISO:
		return t.Format("2006-01-02T15:04:05.000Z07:00")
	case TimeClock:
	}
	if c.narrow {
		return t.Format(time.TimeOnly)
	}
	return t.Format("15:04:05.000")
}
