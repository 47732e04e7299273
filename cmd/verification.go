package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/report/compare"
	"taskrun/cmd/ui/answer"
	"taskrun/cmd/verdict"
	"taskrun/cmd/verify"
	"taskrun/drivers/process/keeper"
	"taskrun/engine/health"
	"taskrun/engine/leaf/scratch"
	"taskrun/jobspec"
)

// run runs the job on both sides, and shows the differences.
func (v *verification) run(ctx context.Context, args []string) (err error) {
	if v.scratch, err = scratch.Make(); err != nil {
		return err
	}
	defer func() {
		if v.watch == nil {
			err = errors.Join(err, scratch.Remove(v.scratch))
		}
	}()
	if err := v.read(ctx, args); err != nil {
		return err
	}
	sockets, err := v.a.runs.MakeSockets()
	if err != nil {
		return err // nothing could talk to the run
	}
	v.watch = keeper.New()
	v.watch.Begin(sockets, func(text string) { v.a.Say("%s", text) })
	v.watch.Scratch(v.scratch)
	ctx, kill, stop := v.a.TwoSignals(ctx)
	defer stop()
	nomad, taskrun, version, err := v.both(ctx, kill)
	if err := errors.Join(scratch.Remove(v.scratch), v.watch.Close(true)); err != nil {
		v.a.Warn(err)
	}
	if err != nil {
		return exit.Stopped(ctx, err)
	}
	return v.show(nomad, taskrun, version)
}

// read reads and checks the job file, and lists what the sides cannot do.
func (v *verification) read(ctx context.Context, args []string) error {
	up := upOptions{jobOptions: v.opts.jobOptions, machineOptions: v.opts.machineOptions, mode: v.opts.mode}
	files, warnings, err := readToRun(ctx, v.a, args, &up, v.scratch, nil)
	if err != nil {
		return err
	}
	v.a.Environ = withoutNomad(v.a.Environ)
	v.files, v.stubs, v.job = files, jobfile.Stubs(files), files[0].Job
	if v.job.IsPeriodic() || v.job.IsParameterized() {
		return exit.Usage("cannot verify job %q: it only launches other jobs", *v.job.ID).
			WithHint("verify a copy without its periodic or parameterized block")
	}
	if v.policy, err = v.opts.policy(files, v.job); err != nil {
		return err
	}
	v.hide = verify.NewHider(v.stubs.SecretValues())
	for _, line := range v.lacks() {
		warnings = append(warnings, jobspec.Diagnostic{Severity: jobspec.Warning, Summary: line})
	}
	return v.a.ShowDiagnostics(console.Format(v.opts.mode), files, warnings)
}

// lacks returns what a Nomad agent of this user lacks for the job.
func (v *verification) lacks() (lines []string) {
	if os.Geteuid() != 0 && !v.remote {
		for _, name := range []string{"exec", "java"} {
			uses := func(t *api.Task) bool { return t.Driver == name }
			if slices.ContainsFunc(v.job.TaskGroups, func(g *api.TaskGroup) bool { return slices.ContainsFunc(g.Tasks, uses) }) {
				lines = append(lines, fmt.Sprintf("Nomad places tasks of driver %q only if its agent runs as root", name))
			}
		}
	}
	for _, of := range []struct {
		what  string
		given bool
	}{
		{"Consul keys", len(v.stubs.Keys("")) > 0},
		{"Vault secrets", len(v.stubs.SecretPaths()) > 0},
		{"services", len(v.stubs.Services) > 0},
		{"Nomad variables", v.remote && len(v.stubs.Variables()) > 0},
		{"host volumes", v.remote && len(v.stubs.HostVolumes) > 0},
	} {
		if of.given {
			lines = append(lines, fmt.Sprintf("Nomad does not get the %s of %s", of.what, v.stubs.File))
		}
	}
	return lines
}

// both runs the job on both sides, one after the other because they might need the
// same ports. The agent starts while taskrun runs the job.
func (v *verification) both(ctx, kill context.Context) (nomad, taskrun *verify.Played, version string, err error) {
	if v.remote {
		server, err := v.opts.at.ServerOf(v.job)
		if err != nil {
			return nil, nil, "", err
		}
		if err := v.absent(ctx, server); err != nil {
			return nil, nil, "", err
		}
		if taskrun, err = v.onTaskrun(ctx); err == nil {
			nomad, version, err = v.onNomad(ctx, kill, server)
		}
		return nomad, taskrun, version, err
	}
	node := v.node()
	if node.HostVolumes, err = v.volumes(); err != nil {
		return nil, nil, "", err
	}
	first, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var agent *verify.Agent
	var failure error
	var starting sync.WaitGroup
	starting.Go(func() {
		agent, failure = verify.StartAgent(first, verify.Start{
			Nomad: v.opts.nomad, Env: v.a.Environ, Dir: v.scratch, Wait: min(verify.StartTime, v.opts.timeout), Node: node,
		})
		if failure != nil {
			cancel(failure)
		}
	})
	taskrun, err = v.onTaskrun(first)
	if err != nil {
		cancel(err)
	}
	starting.Wait()
	if failure != nil {
		return nil, nil, "", failure
	}
	if err == nil {
		nomad, version, err = v.onAgent(ctx, kill, agent)
	}
	return nomad, taskrun, version, errors.Join(err, agent.Stop(kill))
}

// show shows the differences, and returns the exit code as an error.
func (v *verification) show(nomad, taskrun *verify.Played, version string) error {
	for _, played := range []*verify.Played{nomad, taskrun} {
		played.Run.Arrange([]*api.Job{v.job})
	}
	verify.Align(nomad, taskrun)
	c := answer.Comparison{
		A: answer.Side{Name: "Nomad " + version}, B: answer.Side{Name: "taskrun"},
		List: compare.Compare(nomad.Run, taskrun.Run, verify.Tolerance), NotCompared: compare.NotCompared(nomad.Run, taskrun.Run),
	}
	verify.Declare(c.List)
	for i, d := range c.List {
		if d.Kind == compare.File && (d.A == nil || d.B == nil) { // that it exists is the difference
			c.List[i].A, c.List[i].B = firstLine(d.A), firstLine(d.B)
		}
	}
	if unread := slices.Compact(slices.Sorted(slices.Values(slices.Concat(nomad.Unread, taskrun.Unread)))); len(unread) > 0 {
		v.a.Say("not compared: the environment of %s; no command could run there", strings.Join(unread, ", "))
	}
	if err := answer.WriteComparison(v.a.Answer(v.opts.mode), c); err != nil {
		return err
	}
	if c.Different() > 0 {
		return exit.Silent(verdict.Failed)
	}
	return nil
}

func firstLine(s *string) *string {
	if s == nil {
		return nil
	}
	line, _, _ := strings.Cut(*s, "\n")
	return &line
}

// policy returns when a job is stopped, on both sides.
func (o *verifyOptions) policy(files []jobfile.File, job *api.Job) (verdict.Policy, error) {
	up := upOptions{until: o.until, timeout: o.timeout}
	if up.until == (verdict.Until{}) && *job.Type != api.JobTypeBatch && *job.Type != api.JobTypeSysbatch {
		up.until = naturalUntil(job)
	}
	return up.policy(files)
}

// naturalUntil returns when a job that does not end has shown what it does.
func naturalUntil(job *api.Job) verdict.Until {
	for _, g := range job.TaskGroups {
		if u := g.Update; u != nil && cmp.Or(deref(u.Canary), 0) > 0 && !deref(u.AutoPromote) {
			return verdict.Until{Running: serviceTime}
		}
	}
	if *job.Type != api.JobTypeService || health.NewDeployment(job, time.Time{}) == nil || health.ByHand(job) != "" {
		return verdict.Until{Running: serviceTime}
	}
	return verdict.Until{Healthy: true}
}

// serviceTime is how long the tasks of a service run without a deployment.
const serviceTime = 10 * time.Second

// withoutNomad returns an environment without the variables of Nomad, which an agent
// or a task would take for its own.
func withoutNomad(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(v, "NOMAD_") })
}
