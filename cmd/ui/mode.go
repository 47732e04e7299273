package ui

import (
	"fmt"
	"strings"
)

// Mode is the way a run is shown, the value of --output.
type Mode string

// The values of --output.
const (
	Plain Mode = "plain" // lines for people
	JSON  Mode = "json"  // one object a line, all on stdout
	Quiet Mode = "quiet" // the tasks' output, and what failed
)

// String, Set and Type make it the value of a flag.
func (m *Mode) String() string { return string(*m) }

// Set accepts the name of a mode.
func (m *Mode) Set(s string) error {
	switch mode := Mode(s); mode {
	case Plain, JSON, Quiet:
		*m = mode
		return nil
	}
	return oneOf(s, string(Plain), string(JSON), string(Quiet))
}

// Type names the value in help texts.
func (m *Mode) Type() string { return "mode" }

func (m Mode) view(d *Display, opts Options) view {
	switch m {
	case JSON:
		return newJSONView(d, opts)
	case Quiet:
		return newQuiet(d, opts)
	default:
		return newPlain(d, opts)
	}
}

func oneOf(got string, want ...string) error {
	return fmt.Errorf("%q is not one of %s", got, strings.Join(want, ", "))
}
