package cmd

import (
	"fmt"
	"strings"
	"time"

	"taskrun/cmd/ui"
	"taskrun/drivers/process/keeper"
)

// listOrphans shows what dead runs left behind, and leaves it alone.
func listOrphans(a *app, mode ui.Mode) error {
	a.jsonErrors = mode == ui.JSON
	sockets, err := a.sockets()
	if err != nil {
		return err
	}
	dead, err := keeper.FindDead(sockets)
	if err != nil {
		return err
	}
	var found []ui.Orphan
	for _, d := range dead {
		for _, p := range d.Processes() {
			found = append(found, ui.Orphan{Job: strings.Join(d.Jobs, ", "), PID: p.PID, Command: p.Command})
		}
		if err := d.Close(); err != nil {
			return err
		}
	}
	if len(found) == 0 && mode == ui.Plain {
		fmt.Fprintln(a.streams.Err, "no killed run left a process behind")
		return nil
	}
	return ui.WriteOrphans(a.streams, mode, a.colour, time.Now(), found)
}
