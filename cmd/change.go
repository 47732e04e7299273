package cmd

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskrun/cmd/cluster"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/cmd/verdict"
	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
)

// changeOptions are the options of commands that change a running job.
type changeOptions struct {
	lookup.Connection
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

func bindChange(cmd *cobra.Command, opts *changeOptions) {
	flags := cmd.Flags()
	opts.BindRuns(flags)
	bindOutput(cmd, &opts.mode, "plain, json or quiet")
	bindNoWait(flags, &opts.detach)
}

func bindNoWait(flags *pflag.FlagSet, detach *bool) {
	flags.BoolVarP(detach, "detach", "d", false, "do not wait for the deployment")
}

// followChange reports what was done to a job and, unless detach is set,
// follows the resulting deployment.
func followChange(ctx context.Context, a *app, rollout *cluster.Rollout, what string, mode ui.Mode, detach bool) error {
	job := rollout.Job
	done := []answer.Done{{Origin: ui.Origin{Job: job.ID}, Label: "job " + job.Name()}}
	if err := answer.WriteDone(a.Answer(mode), what, done); err != nil || detach || rollout.Evaluation == "" && rollout.Deployment == "" {
		return err
	}
	ctx, stop := a.Stoppable(ctx)
	defer stop()
	screen := &rolloutScreen{Notices: noticesOf(a), show: answer.Rollout{To: a.Answer(mode)}, broken: make(chan error, 1)}
	v := verdict.New(verdict.Policy{Outlives: true}, nil)
	if err := follow(ctx, &source.Loop{Source: rollout, Decider: v, Screen: screen}); err != nil {
		return exit.Stopped(ctx, err)
	}
	if len(v.Run.Deployments) == 0 || v.Run.Deployments[0].Status == health.DeploymentSuccessful {
		return nil
	}
	d := v.Run.Deployments[0] // a later deployment may have rolled it back
	return exit.Failed("version %d of job %q is not deployed: %s", d.Version, job.Name(), d.Description)
}

// rolloutScreen shows deployments and notices.
type rolloutScreen struct {
	source.Notices
	show   answer.Rollout
	broken chan error
}

// Run shows each change of a deployment until events end.
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

// Broken receives the error of a failed write to stdout.
func (s *rolloutScreen) Broken() <-chan error { return s.broken }
