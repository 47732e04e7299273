package ui

import (
	"fmt"
	"slices"
	"strings"
)

// Mode is the way something is shown, the value of --output.
type Mode string

// The values of --output.
const (
	Plain Mode = "plain" // lines for people
	JSON  Mode = "json"  // one object a line, all on stdout
	Quiet Mode = "quiet" // only what matters; for a run the tasks' output, and what failed
)

// String returns the name of the mode, as a flag does.
func (m *Mode) String() string { return string(*m) }

// Set accepts the name of a mode.
func (m *Mode) Set(s string) error { return choose(m, s, Plain, JSON, Quiet) }

// Type names the value in help texts.
func (m *Mode) Type() string { return "mode" }

// ColorMode is the value of --color.
type ColorMode string

// The values of --color.
const (
	ColorAuto   ColorMode = "auto"
	ColorAlways ColorMode = "always"
	ColorNever  ColorMode = "never"
)

// String returns the name of the mode, as a flag does.
func (m *ColorMode) String() string { return string(*m) }

// Set accepts auto, always and never.
func (m *ColorMode) Set(s string) error { return choose(m, s, ColorAuto, ColorAlways, ColorNever) }

// Type names the value in help texts.
func (m *ColorMode) Type() string { return "when" }

// TimeFormat is how the time of a line is shown, the value of --time.
type TimeFormat string

// The values of --time.
const (
	TimeClock   TimeFormat = "clock"   // 15:04:05.000, local
	TimeElapsed TimeFormat = "elapsed" // seconds since the run began: 1.234
	TimeISO     TimeFormat = "iso"     // RFC 3339 in milliseconds, local
	TimeNone    TimeFormat = "none"
)

// String returns the name of the format, as a flag does.
func (f *TimeFormat) String() string { return string(*f) }

// Set accepts the name of a format.
func (f *TimeFormat) Set(s string) error {
	return choose(f, s, TimeClock, TimeElapsed, TimeISO, TimeNone)
}

// Type names the value in help texts.
func (f *TimeFormat) Type() string { return "format" }

// choose sets a flag to one of its values.
func choose[T ~string](to *T, s string, values ...T) error {
	if slices.Contains(values, T(s)) {
		*to = T(s)
		return nil
	}
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	return fmt.Errorf("%q is not one of %s", s, strings.Join(names, ", "))
}
