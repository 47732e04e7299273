package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskrun/cmd/client"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
)

// changeOptions are those of commands that change a job that runs.
type changeOptions struct {
	connection
	mode   ui.Mode
	detach bool
}

const changeHelp = `

With --address the job is one of a Nomad cluster. NOMAD_* variables are ignored.

Output:
  plain  a line for the change, then one for each step of the deployment
  json   one object of type "%s", then those of type "deployment"
  quiet  nothing

Exit codes:
  0    the deployment, if there is one, was successful
  1    the deployment failed, or no such job is running
  2    the call is wrong
  125  taskrun itself failed, or the run refused the change
  130, 143  SIGINT or SIGTERM ended the wait; the deployment continues`

func bindChange(a *app, cmd *cobra.Command, opts *changeOptions) {
	flags := cmd.Flags()
	opts.bindCluster(flags)
	bindOutput(cmd, &opts.mode, ui.Plain, ui.JSON, ui.Quiet)
	bindNoWait(flags, &opts.detach)
}

func bindNoWait(flags *pflag.FlagSet, detach *bool) {
	flags.BoolVarP(detach, "detach", "d", false, "do not wait for the deployment")
}

// runningJob returns the job of an ID.
func runningJob(ctx context.Context, a *app, id string, c connection) (*client.Job, error) {
	servers, err := a.servers(ctx, c)
	if err != nil {
		return nil, err
	}
	running, err := a.jobs(ctx, servers)
	if err != nil {
		return nil, err
	}
	return findJob(running, id)
}

// completeChange completes jobs and then, if wanted, their groups.
func completeChange(a *app, c *connection, groups bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) (found []string, only cobra.ShellCompDirective) {
		only = cobra.ShellCompDirectiveNoFileComp
		if len(args) > 1 || len(args) == 1 && !groups || a.configure(cmd) != nil {
			return nil, only
		}
		servers, err := a.servers(cmd.Context(), *c)
		if err != nil {
			return nil, only
		}
		var names []string
		jobs, _ := client.ListJobs(cmd.Context(), servers)
		if len(args) == 1 {
			if job, err := findJob(jobs, args[0]); err == nil {
				known, _ := job.Groups(cmd.Context())
				names = slices.Sorted(maps.Keys(known))
			}
		} else {
			for _, j := range jobs {
				names = append(names, j.ID)
			}
		}
		for _, name := range names {
			if strings.HasPrefix(name, prefix) {
				found = append(found, name)
			}
		}
		return found, only
	}
}

// followChange says what was done to a job and, unless it is not to be waited for,
// shows how the deployment goes on to which that led.
func followChange(ctx context.Context, a *app, job *client.Job, what string, begun client.Begun, mode ui.Mode, detach bool) error {
	done := []answer.Done{{Job: job.ID, Label: "job " + job.ID}}
	if err := answer.WriteDone(answerTo(a, mode), what, done); err != nil || detach {
		return err
	}
	ctx, stop := a.stoppable(ctx)
	defer stop()
	show := &answer.Rollout{To: answerTo(a, mode)}
	d, err := job.Follow(ctx, begun, show.Show)
	if err != nil || d == nil {
		return stopped(ctx, err)
	}
	if d.Status == "successful" {
		return nil
	}
	failure := &exitError{code: exitFailed, err: fmt.Errorf("version %d of job %q is not deployed: %s", d.JobVersion, job.ID, d.StatusDescription)}
	next, err := job.Next(ctx, d)
	if err == nil && next != nil {
		_, err = job.Follow(ctx, client.Begun{Deployment: next.ID}, show.Show)
	}
	if err != nil {
		return stopped(ctx, err)
	}
	return failure
}
