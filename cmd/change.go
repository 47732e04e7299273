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
	"taskrun/cmd/cluster"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/cmd/verdict"
	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
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
func followChange(ctx context.Context, a *app, rollout *cluster.Rollout, what string, mode ui.Mode, detach bool) error {
	job := rollout.Job
	done := []answer.Done{{Job: job.ID, Label: "job " + job.ID}}
	if err := answer.WriteDone(answerTo(a, mode), what, done); err != nil || detach {
		return err
	}
	ctx, stop := a.stoppable(ctx)
	defer stop()
	screen := &rolloutScreen{notices: func(text string) { a.say("%s", text) }, show: answer.Rollout{To: answerTo(a, mode)}, broken: make(chan error, 1)}
	v := verdict.New(verdict.Policy{Outlives: true}, nil)
	if err := follow(ctx, &source.Loop{Source: rollout, Decider: v, Screen: screen}); err != nil {
		return stopped(ctx, err)
	}
	if len(v.Run.Deployments) == 0 || v.Run.Deployments[0].Status == health.DeploymentSuccessful {
		return nil
	}
	d := v.Run.Deployments[0] // behind it there may be the one that rolled it back
	return &exitError{code: exitFailed, err: fmt.Errorf("version %d of job %q is not deployed: %s", d.Version, job.ID, d.Description)}
}

// rolloutScreen shows deployments and notices.
type rolloutScreen struct {
	notices
	show   answer.Rollout
	broken chan error
}

// Run shows each change of a deployment.
func (s *rolloutScreen) Run(ctx context.Context, events *event.Subscription) {
	defer events.Close()
	for e, ok := events.Next(ctx); ok; e, ok = events.Next(ctx) {
		switch body := e.Body.(type) {
		case event.Notice:
			s.Say(body.Text)
		case event.Deployment:
			if err := s.show.Show(body.API); err != nil {
				s.broken <- err
				return
			}
		}
	}
}

// Broken gets the error of a stdout that cannot be written to.
func (s *rolloutScreen) Broken() <-chan error { return s.broken }
