package answer

import (
	"io"
	"strconv"

	"taskrun/cmd/ui"
)

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
