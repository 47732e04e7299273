package answer

import (
	"fmt"
	"io"
	"strconv"

	"taskrun/cmd/ui"
)

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
			table.Add(style.Plain, u.Job, u.Label, ui.ShortID(u.AllocID),
				fmt.Sprintf("%.1f", u.CPUPercent), strconv.Itoa(int(u.CPUMHz)), fmt.Sprintf("%.1f MiB", float64(u.Memory)/(1<<20)))
		}
		ui.WriteLines(out, table.Fit(to.Streams.TableWidth(), 2).Lines())
	})
}
