package cmd

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/pflag"

	"taskrun/cmd/client"
	"taskrun/cmd/console"
	"taskrun/cmd/enginerun"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/record"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
	"taskrun/jobspec"
)

// detach starts a run in the background. It reports every error that keeps the jobs
// from running.
func detach(a *app, files []jobfile.File, warnings jobspec.Diagnostics, opts upOptions, dataDir string) (*source.Directory, error) {
	if err := a.ShowDiagnostics(console.Format(opts.mode), files, warnings); err != nil {
		return nil, err
	}
	input, err := enginerun.NewInput(files)
	if err != nil {
		return nil, err
	}
	if opts.watch {
		input.Watch = newWatched(files, opts)
	}
	args := func(path string) []string { return engineArgs(a, path, opts.flags) }
	return enginerun.Detach(a.runs, dataDir, input, args, a.Environ)
}

// engineArgs returns the command line of an engine with the flags of another
// command. It includes flags that are set to their default value, because the
// engine also reads the environment and the config file.
func engineArgs(a *app, file string, given *pflag.FlagSet) []string {
	args := []string{"engine", file}
	if a.configFile != "" {
		args = append(args, "--config="+a.configFile)
	}
	engine := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(upOptions).bindEngine(engine)
	engine.VisitAll(func(f *pflag.Flag) {
		given := given.Lookup(f.Name)
		value := given.Value.String()
		if !given.Changed && value == f.DefValue {
			return
		}
		if list, ok := given.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		args = append(args, "--"+f.Name+"="+value)
	})
	return args
}

// reportDetached reports how to reach a run, and waits for the run if the options say
// so.
func reportDetached(ctx context.Context, a *app, jobs []*api.Job, opts upOptions, d *source.Directory) error {
	ports := portsOf(ctx, d.Server, jobs)
	var runs []answer.Detached
	for _, j := range jobs {
		runs = append(runs, answer.Detached{Name: *j.ID, Run: ui.Run{
			Job: *j.ID, Version: currentVersion().Version, PID: d.Self.PID, Socket: d.Server.Socket, DataDir: d.Self.DataDir,
			RunDir: d.Self.Runs[*j.ID], Log: d.Log(*jobs[0].ID), Ports: ports[*j.ID],
		}})
	}
	if opts.wait {
		if err := waitReady(ctx, a, d, opts); err != nil {
			return err
		}
	}
	return answer.WriteDetached(a.Answer(opts.mode), runs)
}

// portsTime limits how long reportDetached waits until all allocations have
// their ports.
const portsTime = 2 * time.Second

// portsOf returns the ports of a run by job, once all its allocations have
// them. A run that has ended has no ports.
func portsOf(ctx context.Context, s *client.Server, jobs []*api.Job) map[string][]ui.Port {
	expected := 0
	for _, j := range jobs {
		for _, g := range j.TaskGroups {
			hasPorts := func(n *api.NetworkResource) bool { return len(n.DynamicPorts)+len(n.ReservedPorts) > 0 }
			if !j.IsPeriodic() && !j.IsParameterized() && slices.ContainsFunc(g.Networks, hasPorts) {
				expected += *g.Count
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, portsTime)
	defer cancel()
	ports, found := map[string][]ui.Port{}, 0
	for q := (&api.QueryOptions{Params: map[string]string{"resources": "true"}}).WithContext(ctx); found < expected; {
		allocs, meta, err := s.API.Allocations().List(q)
		if err != nil {
			break
		}
		q.WaitIndex = max(meta.LastIndex, 1) // of an empty list it is 0, which means not to wait
		ports, found = map[string][]ui.Port{}, 0
		slices.SortFunc(allocs, func(a, b *api.AllocationListStub) int { return cmp.Compare(a.Name, b.Name) })
		for _, alloc := range allocs {
			if alloc.AllocatedResources == nil || len(alloc.AllocatedResources.Shared.Ports) == 0 {
				continue
			}
			found++
			for _, p := range alloc.AllocatedResources.Shared.Ports {
				address := net.JoinHostPort(p.HostIP, strconv.Itoa(p.Value))
				ports[alloc.JobID] = append(ports[alloc.JobID], ui.Port{Alloc: alloc.Name, Label: p.Label, Address: address})
			}
		}
	}
	return ports
}

// waitReady waits until a run in the background is ready or has ended
// successfully.
func waitReady(ctx context.Context, a *app, d *source.Directory, opts upOptions) error {
	ctx, stop := a.Stoppable(ctx)
	defer stop()
	defer d.Close()
	d.Server.Patient = true // it is starting
	jobs, err := d.Jobs(ctx)
	if err != nil {
		if summary, _ := record.Read(d.Self.Runs[d.IDs[0]]); summary != nil {
			return endedEarly(d, summary)
		}
		return exit.Stopped(ctx, err)
	}
	d.Detail = source.Events
	ready := verdict.NewReady(jobs, opts.until, time.Time{})
	err = follow(ctx, &source.Loop{Source: d, Decider: ready})
	failure, decided := ready.Decided()
	switch {
	case decided && failure != nil:
		return exit.Failed("%w", failure).
			WithHint("if it can, the run continues: taskrun attach %s; messages of taskrun are in %s", d.IDs[0], d.Log(d.IDs[0]))
	case decided:
		return nil
	case err != nil:
		a.goesOn(ctx, d)
		return exit.Stopped(ctx, err)
	}
	summary, err := record.Read(d.Self.Runs[d.IDs[0]])
	if err != nil {
		return err
	}
	return endedEarly(d, summary)
}

// endedEarly returns the error of a run that ended before it was ready, or nil
// if it ended successfully.
func endedEarly(d *source.Directory, summary *view.Summary) error {
	if summary.ExitCode == verdict.OK {
		return nil
	}
	job := d.IDs[0]
	return (&exit.Error{Code: summary.ExitCode, Err: fmt.Errorf("job %q has ended with exit code %d", job, summary.ExitCode)}).
		WithHint("see: taskrun logs %s; messages of taskrun are in %s", job, d.Log(job))
}
