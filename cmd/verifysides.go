package cmd

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/enginerun"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/lookup"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
	"taskrun/cmd/verify"
	"taskrun/drivers/process/keeper"
	"taskrun/engine/leaf/datadir"
	"taskrun/jobspec/stub"
)

type verifyOptions struct {
	jobOptions
	machineOptions
	at      lookup.Connection
	mode    ui.Mode
	nomad   string
	timeout time.Duration
	until   verdict.Until
}

type verification struct {
	a      *app
	opts   verifyOptions
	remote bool

	files   []jobfile.File
	job     *api.Job
	stubs   *stub.Set
	policy  verdict.Policy
	hide    verify.Hider
	scratch string
	watch   *keeper.Watch
}

// onTaskrun runs the job with an engine of this process.
func (v *verification) onTaskrun(ctx context.Context) (*verify.Played, error) {
	up := upOptions{jobOptions: v.opts.jobOptions, machineOptions: v.opts.machineOptions}
	serving := make(chan struct{})
	o := up.engineRun(v.a, v.files, nil, verdict.Policy{}, filepath.Join(v.scratch, "taskrun"))
	o.Watch, o.Serving = v.watch, func() { close(serving) }
	o.Screen = quietScreen{func(text string) { v.a.Say("taskrun: %s", text) }}
	r, stop := enginerun.New(o)
	defer stop()
	if r.Socket() == "" {
		return nil, errors.New("cannot talk to the run: it has no socket")
	}
	server, err := client.Local(r.Socket())
	if err != nil {
		return nil, err
	}
	v.a.Say("taskrun runs job %q", *v.job.ID)
	ended := make(chan error, 1)
	go func() {
		_, err := r.Run(ctx, jobfile.Jobs(v.files))
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil {
			err = context.Cause(ctx) // it was stopped at once
		}
		return nil, enginerun.Refused(err, v.scratch)
	case <-serving:
	}
	played, err := v.play(ctx, server, "", "taskrun")
	if err != nil {
		r.Stop(false)
	}
	return played, errors.Join(err, <-ended)
}

// onAgent runs the job on an agent that was started here, and fails if that ends.
func (v *verification) onAgent(ctx, kill context.Context, agent *verify.Agent) (*verify.Played, string, error) {
	lives, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	finished := make(chan struct{})
	defer close(finished)
	go func() {
		select {
		case <-agent.Done():
			cancel(agent.Ended())
		case <-finished:
		}
	}()
	server, err := client.Remote(client.Cluster{Address: agent.Server.Address, Region: v.node().Region, Namespace: *v.job.Namespace})
	if err != nil {
		return nil, "", err
	}
	if err := verify.Provide(lives, server, v.job, v.stubs); err != nil {
		return nil, "", agent.Explain(err)
	}
	played, version, err := v.onNomad(lives, kill, server)
	if ctx.Err() == nil { // no user stops it
		err = agent.Explain(err)
	}
	return played, version, err
}

// absent returns an error if a cluster has the job.
func (v *verification) absent(ctx context.Context, s *client.Server) error {
	_, _, err := s.Info(ctx, *v.job.ID, 0)
	switch {
	case client.Missing(err):
		return nil
	case err != nil:
		return err
	}
	return exit.Usage("%v has a job %q, which verify would replace", s, *v.job.ID).
		WithHint("give the job of the file another name, or purge that one: taskrun stop --purge%s %s", v.opts.at.Words(), *v.job.ID)
}

// onNomad registers the job, which must be new, and purges it in the end.
func (v *verification) onNomad(ctx, kill context.Context, s *client.Server) (played *verify.Played, version string, err error) {
	if version, err = verify.Version(ctx, s); err != nil {
		return nil, "", err
	}
	v.a.Say("Nomad %s runs job %q", version, *v.job.ID)
	answer, err := s.RegisterAt(ctx, v.job, v.files[0].Source, 0)
	if refused, ok := errors.AsType[*client.RefusedError](err); ok && client.Remedy(err) == "" {
		return nil, "", exit.Usage("Nomad refuses job %q:\n%w", *v.job.ID, refused)
	}
	if err != nil {
		return nil, "", err
	}
	if answer.Warnings != "" {
		v.a.Say("Nomad: %s", strings.TrimSpace(answer.Warnings))
	}
	defer func() {
		if _, ended := errors.AsType[*verify.AgentError](err); !ended {
			err = errors.Join(err, verify.Purge(kill, s, v.job))
		}
	}()
	played, err = v.play(ctx, s, answer.EvalID, "Nomad")
	return played, version, err
}

// play follows the job on one side.
func (v *verification) play(ctx context.Context, s *client.Server, evaluation, side string) (*verify.Played, error) {
	job, _, err := s.Info(ctx, *v.job.ID, 0)
	if err != nil {
		return nil, err
	}
	job.Canonicalize()
	played, err := verify.Play(ctx, verify.Side{
		Server: s, Job: job, EvalID: evaluation, Hide: v.hide, Alone: evaluation != "" && !v.remote,
		Say: func(text string) { v.a.Say("%s: %s", side, text) },
	}, v.policy)
	if unplaced, ok := errors.AsType[*verify.UnplacedError](err); ok {
		return nil, exit.Usage("Nomad cannot run the job: %w", unplaced)
	}
	return played, err
}

// node returns what an agent needs for the job to be placed there.
func (v *verification) node() verify.Node {
	n := verify.Node{Class: v.stubs.Node.Class, Pool: v.stubs.Node.Pool, Meta: v.stubs.Node.Meta}
	if p := deref(v.job.NodePool); p != api.NodePoolDefault && p != api.NodePoolAll {
		n.Pool = p
	}
	if r := deref(v.job.Region); r != api.GlobalRegion {
		n.Region = r
	}
	if d := v.job.Datacenters; len(d) > 0 && !strings.ContainsAny(d[0], "*?[") {
		n.Datacenter = d[0]
	}
	if d := v.stubs.Node.Datacenter; d != "" {
		n.Datacenter = d
	}
	return n
}

// volumes returns the host volumes that the job needs: those of the stubs, and a new
// folder for each other one.
func (v *verification) volumes() (map[string]stub.HostVolume, error) {
	volumes := map[string]stub.HostVolume{}
	for _, g := range v.job.TaskGroups {
		for _, request := range g.Volumes {
			if request.Type != "host" {
				continue
			}
			of, ok := v.stubs.HostVolumes[request.Source]
			if !ok {
				path, err := datadir.MakeVolume(v.scratch, request.Source, nil)
				if err != nil {
					return nil, err
				}
				of.Path = path
			}
			volumes[request.Source] = of
		}
	}
	return volumes, nil
}

// quietScreen shows only the notices of a run.
type quietScreen struct{ source.Notices }

// End shows nothing.
func (quietScreen) End(view.Result) {}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
