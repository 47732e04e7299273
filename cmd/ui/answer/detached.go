package answer

import (
	"fmt"
	"strings"

	"taskrun/cmd/prose"
	"taskrun/cmd/ui"
	"taskrun/jobspec/visible"
)

// Detached is a job in the background.
type Detached struct {
	ui.Run
	Name  string `json:"-"` // of the job for other commands
	Flags string `json:"-"` // with which other commands find it
}

// WriteDetached writes how to reach jobs in the background: lines on stderr, or
// an object of type "run" on stdout for each job.
func WriteDetached(to To, jobs []Detached) error {
	if to.Mode == ui.JSON {
		return write(to, "run", jobs, nil, nil)
	}
	if to.Mode == ui.Quiet {
		return nil
	}
	var out strings.Builder
	style := to.Streams.ErrStyle(to.Color)
	for _, j := range jobs {
		job, flags := visible.String(j.Name), visible.String(j.Flags)
		where := "runs in the background"
		if j.Address != "" {
			where = "is registered in " + visible.String(j.Address)
		}
		fmt.Fprintf(&out, "%s job %s %s\n", style.Good("✓"), style.Strong(job), where)
		for _, p := range j.Ports {
			fmt.Fprintf(&out, "  %s  %s\n", p.Address, style.Quiet(visible.String("port "+p.Label+" of "+p.Alloc)))
		}
		follow := "taskrun logs" + flags + " -f --job " + job
		for _, c := range []struct{ command, does string }{
			{"taskrun attach" + flags + " " + job, "shows it"},
			{follow, "follows its output"},
			{"taskrun stop" + flags + " " + job, "stops it"},
		} {
			fill := strings.Repeat(" ", prose.Width(follow)-prose.Width(c.command))
			fmt.Fprintf(&out, "  %s%s  %s\n", c.command, fill, style.Quiet(c.does))
		}
	}
	_, err := to.Streams.Err.Write([]byte(out.String()))
	return err
}
