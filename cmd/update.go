package cmd

import (
	"context"

	"taskrun/cmd/client"
	"taskrun/cmd/ui"
)

// update makes the jobs of the files the versions that run. The runs show what
// becomes of it.
func (a *app) update(ctx context.Context, files []jobFile, mode ui.Mode) error {
	servers, err := a.localServers(ctx)
	if err != nil {
		return err
	}
	running := client.ListJobs(ctx, servers)
	for _, f := range files {
		job, err := findJob(running, *f.Job.ID)
		if err != nil {
			return err
		}
		if err := job.Register(ctx, f.Job, f.source); err != nil {
			return err
		}
		done := []ui.Done{{Job: job.ID, Label: "job " + job.ID}}
		if err := ui.WriteDone(a.streams, mode, "updated", done); err != nil {
			return err
		}
	}
	return nil
}
