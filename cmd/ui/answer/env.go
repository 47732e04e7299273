package answer

import (
	"fmt"
	"io"
	"strings"

	"taskrun/cmd/ui"
	"taskrun/jobspec/visible"
)

// Env is the environment of a task.
type Env struct {
	ui.Origin
	Env map[string]string `json:"env"`
	// Hidden are the names of variables whose values are not shown.
	Hidden []string `json:"hidden,omitempty"`

	Label string   `json:"target"` // name for other commands
	List  []string `json:"-"`      // sorted NAME=value
}

// WriteEnv writes the environment of a task: a line for each variable, or an object.
func WriteEnv(to To, e Env) error {
	e.Env = make(map[string]string, len(e.List))
	for _, variable := range e.List {
		name, value, _ := strings.Cut(variable, "=")
		e.Env[name] = value
	}
	return write(to, "env", []Env{e}, nil, func(out io.Writer) {
		for _, variable := range e.List {
			fmt.Fprintln(out, visible.String(variable))
		}
	})
}
