package cmd

import (
	"cmp"
	"context"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/host"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/preflight"
	"taskrun/cmd/rehearse"
	"taskrun/engine/port"
	"taskrun/jobspec"
)

// readToRun reads and checks job files. If they cannot run, it shows why and
// returns a silent error. Warnings are left for the view of the run.
func readToRun(ctx context.Context, a *app, args []string, opts *upOptions, dataDir string, stage *rehearse.Rehearsal) ([]jobfile.File, jobspec.Diagnostics, error) {
	opts.Placeholders = opts.rehearse
	files, diagnostics, err := a.read(ctx, args, opts.jobOptions)
	if err != nil {
		return nil, nil, err
	}
	if opts.onRead != nil {
		opts.onRead(files)
	}
	opts.dataDir = dataDir
	c, done, err := a.preflight(opts.entry(), files, opts.jobOptions, opts.machineOptions)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	c.Download = opts.download
	if c.Entry == preflight.Up {
		c.Taken = func(number int) error { return a.takenPort(ctx, files, dataDir, number) }
	}
	c.Prepare()
	if stage != nil {
		stage.Admit(c.Files)
	}
	diagnostics = opts.wanted(sorted(diagnostics, c.Check()))
	if stage != nil {
		opts.untested = c.Untested()
	}
	if err := opts.refuse(a, files, diagnostics); err != nil {
		return nil, nil, err
	}
	if stage != nil {
		stage.Cast(files)
	}
	if opts.noRestart {
		neverRestart(jobfile.Jobs(files))
	}
	return files, diagnostics, nil
}

// takenPort returns an error that says who uses a port of this machine, unless
// that may be one of the jobs itself: running it a second time is another error.
func (a *app) takenPort(ctx context.Context, files []jobfile.File, dataDir string, number int) error {
	dir, _ := a.runs.Sockets() // without the directory, there are no other runs
	claims := port.NewClaims(host.PortDir(dir))
	err := claims.Static(number, "taskrun")
	if err == nil {
		claims.Release(number)
		return nil
	}
	live, _ := a.runs.LiveRuns(ctx, dataDir)
	for _, r := range live {
		for _, j := range jobfile.Jobs(files) {
			if r.Key(*j.ID) != "" {
				return nil
			}
		}
	}
	return err
}

// refuse shows and reports diagnostics. It returns a silent error if there are
// errors among them.
func (o *upOptions) refuse(a *app, files []jobfile.File, diagnostics jobspec.Diagnostics) error {
	refusal := a.Refuse(files, diagnostics, o.mode)
	return cmp.Or(refusal, o.reports.Found(files, diagnostics))
}

// neverRestart removes the restarts and the rescheduling from canonical jobs:
// the first failure of a task ends its allocation.
func neverRestart(jobs []*api.Job) {
	for _, j := range jobs {
		for _, g := range j.TaskGroups {
			policies := []*api.RestartPolicy{g.RestartPolicy}
			for _, t := range g.Tasks {
				policies = append(policies, t.RestartPolicy)
			}
			for _, p := range policies {
				p.Attempts, p.Mode = new(0), new(api.RestartPolicyModeFail)
			}
			if p := g.ReschedulePolicy; p != nil { // nil for system jobs
				p.Attempts, p.Unlimited = new(0), new(false)
			}
		}
	}
}
