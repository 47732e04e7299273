package cmd

import (
	"fmt"

	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/drivers/process/keeper"
)

// listOrphans shows what dead runs left behind, and changes nothing.
func listOrphans(a *app, mode ui.Mode) error {
	sockets, err := a.runs.Sockets()
	if err != nil {
		return err
	}
	dead, err := keeper.FindDead(sockets)
	if err != nil {
		return err
	}
	var found []answer.Orphan
	for _, d := range dead {
		for _, p := range d.Processes() {
			found = append(found, answer.Orphan{Job: jobsOf(d), PID: p.PID, Command: p.Command})
		}
		if err := d.Close(); err != nil {
			return err
		}
	}
	if len(found) == 0 && mode == ui.Plain {
		fmt.Fprintln(a.Streams.Err, "no killed run left a process behind")
		return nil
	}
	return answer.WriteOrphans(a.Answer(mode), found)
}
