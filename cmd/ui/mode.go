package ui

import (
	"fmt"
	"slices"
	"strings"
)

// Mode is an output mode, the value of --output.
type Mode string

// Values of --output.
const (
	Plain Mode = "plain" // lines for people
	JSON  Mode = "json"  // one object per line, all on stdout
	Quiet Mode = "quiet" // only the essentials; for a run, the tasks' output and failures
)

// ColorMode is the value of --color.
type ColorMode string

// Values of --color.
const (
	ColorAuto   ColorMode = "auto"
	ColorAlways ColorMode = "always"
	ColorNever  ColorMode = "never"
)

// TimeFormat is the format of the time in a line, the value of --time.
type TimeFormat string

// Values of --time.
const (
	TimeClock   TimeFormat = "clock"   // 15:04:05.000, local
	TimeElapsed TimeFormat = "elapsed" // seconds since the start of the run: 1.234
	TimeISO     TimeFormat = "iso"     // RFC 3339 with milliseconds, local
	TimeNone    TimeFormat = "none"
)

// Prefix selects the prefix of a line of a task's output, the value of --prefix.
type Prefix string

// Values of --prefix.
const (
	PrefixAuto  Prefix = ""      // the name of the task, if there are several
	PrefixNone  Prefix = "none"  // nothing
	PrefixTask  Prefix = "task"  // the name of the task: the shortest one that is unambiguous
	PrefixAlloc Prefix = "alloc" // the ID of the allocation and the task
)

// Choice is the value of a flag that accepts one of several words.
type Choice[T ~string] struct {
	To     *T
	Kind   string // in help texts
	Values []T
}

// String returns the word that is set.
func (c Choice[T]) String() string {
	if c.To == nil { // pflag does this
		return ""
	}
	return string(*c.To)
}

// Set accepts one of the words.
func (c Choice[T]) Set(s string) error {
	if !slices.Contains(c.Values, T(s)) {
		return fmt.Errorf("%q is not one of %s", s, strings.Join(c.Words(), ", "))
	}
	*c.To = T(s)
	return nil
}

// Type names the value in help texts.
func (c Choice[T]) Type() string { return c.Kind }

// Words returns the words.
func (c Choice[T]) Words() []string {
	words := make([]string, len(c.Values))
	for i, v := range c.Values {
		words[i] = string(v)
	}
	return words
}
