package view

import (
	"fmt"
	"time"

	"taskrun/cmd/ui"
)

// clock formats times.
type clock struct {
	format ui.TimeFormat
	begin  time.Time
	narrow bool // no room for fractions of a second
}

// text returns a time for the beginning of a line, or "".
func (c *clock) text(t time.Time) string {
	switch c.format {
	case ui.TimeNone:
		return ""
	case ui.TimeElapsed:
		return fmt.Sprintf("%7.3f", max(0, t.Sub(c.begin)).Seconds())
	case ui.TimeISO:
		return t.Format("2006-01-02T15:04:05.000Z07:00")
	case ui.TimeClock:
	}
	if c.narrow {
		return t.Format(time.TimeOnly)
	}
	return t.Format("15:04:05.000")
}
