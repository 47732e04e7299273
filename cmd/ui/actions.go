package ui

import (
	"bufio"
	"strings"
	"time"

	"taskrun/jobspec/visible"
)

// Action is what can be done in a task, as `action` shows it.
type Action struct {
	Job     string   `json:"job"`
	Group   string   `json:"group"`
	Alloc   string   `json:"alloc"`
	AllocID string   `json:"alloc_id"`
	Task    string   `json:"task"`
	Target  string   `json:"target"` // by which other commands find the task
	Action  string   `json:"action"`
	Command []string `json:"command"`
}

// WriteActions writes actions to stdout: as a table, as objects, or their
// targets and names alone.
func WriteActions(s *Streams, mode Mode, colour ColourMode, actions []Action) error {
	out := bufio.NewWriter(s.Out)
	switch mode {
	case JSON:
		for _, a := range actions {
			writeJSON(out, struct {
				jsonHead
				Action
			}{head("action", time.Now()), a})
		}
	case Quiet:
		for _, a := range actions {
			out.WriteString(visible.String(a.Target+" "+a.Action) + "\n")
		}
	default:
		width := 0
		if s.OutTerm {
			width = s.Width()
		}
		writeLines(out, actionTable(s.OutStyle(colour), actions, width))
	}
	return out.Flush()
}

// actionTable returns a line for each action. It fits into a terminal's width;
// with 0 columns nothing is cut.
func actionTable(style *Style, actions []Action, width int) []string {
	rows := []row{{[]string{"TASK", "ACTION", "COMMAND"}, style.Strong}}
	for _, a := range actions {
		command := appendVisible(nil, []byte(strings.Join(a.Command, " ")))
		rows = append(rows, row{[]string{a.Target, a.Action, string(command)}, style.Note})
	}
	if width > 0 {
		fit(rows, width, len(rows[0].cells))
	}
	return align(rows, len(rows[0].cells))
}
