package cmd

import (
	"cmp"
	"context"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/onscreen"
	"taskrun/cmd/record"
	"taskrun/cmd/source"
	"taskrun/cmd/verdict"
	"taskrun/jobspec"
)

// upOnScreen runs jobs in the background, and shows them on the full screen until the
// user has stopped the run, or leaves it.
func upOnScreen(ctx context.Context, a *app, files []jobfile.File, warnings jobspec.Diagnostics, opts upOptions, dataDir string) error {
	if err := a.NeedsTerminal(); err != nil {
		return err
	}
	d, err := detach(a, files, warnings, opts, dataDir)
	if err != nil {
		return err
	}
	defer d.Close()
	signals, unwatch := a.Signals()
	defer unwatch()
	s := &onscreen.Session{Console: a.Console, ConfigFile: a.configFile, At: opts.at, Own: &onscreen.OwnRun{From: d, Caught: signals}}
	if err := s.OfDirectory(ctx, d, jobfile.Jobs(files)); err != nil {
		return err
	}
	if s.Own.Alone {
		return reportDetached(ctx, a, jobfile.Jobs(files), opts, d)
	}
	return resultOnScreen(a, s.Own, d, jobfile.Jobs(files))
}

// resultOnScreen returns the exit code of the run, which has ended, as an error.
func resultOnScreen(a *app, r *onscreen.OwnRun, d *source.Directory, jobs []*api.Job) error {
	summary, err := record.Read(d.Self.Runs[*jobs[0].ID])
	if err != nil || summary == nil {
		return err
	}
	reason := summary.Reason
	if reason == verdict.ByClient { // which this process was
		reason = cmp.Or(r.Cause, reason)
	}
	a.Say("the run has ended: %s", reason)
	if r.Code != 0 && summary.ExitCode != verdict.Failed {
		return exit.Silent(r.Code)
	}
	return exit.Silent(summary.ExitCode)
}
