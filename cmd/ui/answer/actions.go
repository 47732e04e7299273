package answer

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"taskrun/cmd/ui"
)

// Action is an action of a task, as `action` shows it.
type Action struct {
	ui.Origin
	Target  string   `json:"target"` // name of the task for other commands
	Action  string   `json:"action"`
	Command []string `json:"command"`
}

// WriteActions writes actions; in quiet mode, only their targets and names.
func WriteActions(to To, actions []Action) error {
	name := func(a Action) string { return a.Target + " " + a.Action }
	return write(to, "action", actions, name, func(out io.Writer) {
		style := to.style()
		table := ui.NewTable(style, 3, "TASK", "ACTION", "COMMAND")
		for _, a := range actions {
			table.Add(style.Note, a.Target, a.Action, ansi.Strip(strings.Join(a.Command, " ")))
		}
		ui.WriteLines(out, table.Fit(to.Streams.TableWidth(), 3).Lines())
	})
}
