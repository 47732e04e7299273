package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/drivers"
	"taskrun/drivers/catalog"
	"taskrun/drivers/process"
	"taskrun/drivers/process/keeper"
)

// cleanUp removes a dead run's tasks of a driver whose tasks are not processes.
func cleanUp(ctx context.Context, driver, ref string) error {
	d, ok := catalog.New()[driver].(drivers.Lasting)
	if !ok {
		return fmt.Errorf("cannot clean up after %s tasks: this version of taskrun has no such driver", driver)
	}
	return d.CleanUp(ctx, ref)
}

// sweepFirst cleans up before a command, unless that is hidden or lists what there
// is to clean up.
func sweepFirst(a *app, cmd *cobra.Command) {
	if f := cmd.Flags().Lookup(orphansFlag); cmd.Hidden || f != nil && f.Value.String() == "true" {
		return
	}
	sweepDead(cmd.Context(), a, cmd.Name() == "clean")
}

// sweepDead cleans up after runs that were killed together with their keeper, or
// before they had one, and reports it. If there are none, it only reads the
// directory of sockets. After a failure every command tries again, unless this is
// the last time.
func sweepDead(ctx context.Context, a *app, last bool) {
	say := func(format string, args ...any) {
		a.Report(a.Streams.ErrStyle(a.Color).Bad("taskrun:"), fmt.Sprintf(format, args...))
	}
	sockets, err := a.runs.Sockets()
	if warning := a.runs.Warning(); warning != "" {
		a.Warn(errors.New(warning))
	}
	if err != nil {
		return // commands that need the directory report it
	}
	dead, err := keeper.FindDead(sockets)
	if err != nil {
		say("%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, source.SweepTime)
	defer cancel()
	for _, d := range dead {
		killed, err := d.Sweep(ctx, cleanUp, last)
		if len(killed) > 0 {
			say("killed %s, which the run of %s left behind when process %d was killed",
				listProcesses(killed), jobsOf(d), d.PID)
		}
		switch {
		case err == nil:
		case last:
			say("%v; it is not tried again", err)
		default:
			say("%v; taskrun clean gives it up", err)
		}
	}
}

// jobsOf returns the jobs of a dead run, each one once.
func jobsOf(d *keeper.Dead) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(d.Jobs))), ", ")
}

// listed is how many processes are listed by name.
const listed = 5

func listProcesses(killed []process.Remain) string {
	names := make([]string, 0, listed+1)
	for i, p := range killed {
		if i == listed {
			names = append(names, fmt.Sprintf("and %d more", len(killed)-listed))
			break
		}
		names = append(names, fmt.Sprintf("process %d (%s)", p.PID, p.Command))
	}
	return strings.Join(names, ", ")
}

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
