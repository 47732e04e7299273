package answer

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"taskrun/cmd/prose"
	"taskrun/cmd/ui"
	"taskrun/jobspec/visible"
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

// Port is a port of a task, as `port` shows it.
type Port struct {
	ui.Origin
	Target  string `json:"target"` // name of the task for other commands
	Label   string `json:"label"`
	Address string `json:"address"`      // HOST:PORT on the machine
	To      int    `json:"to,omitempty"` // where the task listens, if that is another port
}

// WritePorts writes ports; in quiet mode, only their addresses.
func WritePorts(to To, ports []Port) error {
	address := func(p Port) string { return p.Address }
	return write(to, "port", ports, address, func(out io.Writer) {
		style := to.style()
		table := ui.NewTable(style, 4, "TASK", "LABEL", "ADDRESS", "TO")
		for _, p := range ports {
			listens := ""
			if p.To > 0 {
				listens = strconv.Itoa(p.To)
			}
			table.Add(style.Note, p.Target, p.Label, p.Address, listens)
		}
		ui.WriteLines(out, table.Fit(to.Streams.TableWidth(), 2).Lines())
	})
}

// Usage is the resource usage of a task at one moment.
type Usage struct {
	ui.Origin

	CPUPercent float64 `json:"cpu_percent"` // of one core
	CPUMHz     float64 `json:"cpu_mhz"`
	Memory     uint64  `json:"memory_bytes"`

	Label string `json:"target"`
}

// WriteUsage writes resource usage, as objects of type "stats".
func WriteUsage(to To, used []Usage) error {
	if to.Mode == ui.Quiet {
		to.Mode = ui.Plain
	}
	return write(to, "stats", used, nil, func(out io.Writer) {
		style := to.style()
		table := ui.NewTable(style, 3, "JOB", "TASK", "ALLOC", "CPU %", "MHZ", "MEMORY")
		for _, u := range used {
			table.Add(style.Plain, u.Job, u.Label, prose.ShortID(u.AllocID),
				fmt.Sprintf("%.1f", u.CPUPercent), strconv.Itoa(int(u.CPUMHz)), fmt.Sprintf("%.1f MiB", float64(u.Memory)/(1<<20)))
		}
		ui.WriteLines(out, table.Fit(to.Streams.TableWidth(), 2).Lines())
	})
}

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
