// Command differ runs the jobs of a folder on a real Nomad agent and on taskrun,
// with the same actions on both, and reports each difference in the results.
//
//	go run ./scripts/differ -nomad PATH [-taskrun PATH] [-address URL] DIR
//
// NAME.nomad.hcl is a job and NAME.v2.nomad.hcl another version of it. In
// actions.json {"actions": {NAME: [[WHAT, SECONDS], …]}} lists the actions on the
// job, each with its delay after the previous action:
//
//	cli ARGS…    a command of the nomad CLI; $ALLOC is the running allocation
//	api PATH     a GET request
//	deploy       record the deployments
//	allocs       record the allocations
//	stop         stop the job
//
// An action with negative seconds is run before the job and on Nomad only: it
// creates what the stubs in taskrun.hcl provide for taskrun. agent.hcl, if it
// exists, is additional configuration of the agent. @R@ is a scratch folder in all
// files. With -record the results of Nomad are written to expected/NAME.json, and
// with -recorded these are used instead of an agent.
//
// declared.json lists intended differences: [{"name", "path", "why"}], where name
// and path are regular expressions. The exit code is 1 if there is any other
// difference.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"taskrun/cmd/report/recording"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	opts, err := parse(os.Args[1:])
	different := false
	if err == nil {
		different, err = run(ctx, opts, os.Stdout)
	}
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "differ:", err)
		os.Exit(2)
	case different:
		os.Exit(1)
	}
}

// run compares all jobs, and reports whether there are undeclared differences.
func run(ctx context.Context, opts options, out io.Writer) (different bool, err error) {
	cases, err := load(opts.dir, opts.only)
	if err != nil {
		return false, err
	}
	scratch, err := os.MkdirTemp("", "differ")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	if err := os.Chmod(scratch, 0o711); err != nil { // for tasks of other users
		return false, err
	}
	var agent *side
	if !opts.recorded {
		var end func()
		if agent, end, err = startAgent(ctx, opts, scratch); err != nil {
			return false, err
		}
		defer end()
	}
	results := make([]result, len(cases.jobs))
	var all sync.WaitGroup
	slots := make(chan struct{}, opts.parallel)
	for i, name := range cases.jobs {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			results[i] = compare(ctx, opts, cases, agent, name, filepath.Join(scratch, fmt.Sprint(i)))
		})
	}
	all.Wait()
	return cases.report(out, results), ctx.Err()
}

// compare runs a job on both sides concurrently.
func compare(ctx context.Context, opts options, cases *cases, agent *side, name, scratch string) result {
	if err := errors.Join(os.Mkdir(scratch, 0o711), cases.copyTo(scratch)); err != nil {
		return result{name: name, err: err}
	}
	var nomad, taskrun recording.Recording
	var nomadErr, taskrunErr error
	var both sync.WaitGroup
	both.Go(func() {
		if agent != nil {
			nomad, nomadErr = agent.play(ctx, name, scratch, cases.actions[name], opts.settle)
			return
		}
		nomadErr = readJSON(filepath.Join(opts.dir, "expected", name+".json"), &nomad)
	})
	both.Go(func() { taskrun, taskrunErr = playLocally(ctx, opts, name, scratch, cases.actions[name]) })
	both.Wait()
	if nomadErr != nil {
		return result{name: name, err: fmt.Errorf("on Nomad: %w", nomadErr)}
	}
	if opts.record {
		if err := write(filepath.Join(opts.dir, "expected", name+".json"), nomad); err != nil {
			return result{name: name, err: err}
		}
	}
	if taskrunErr != nil {
		return result{name: name, err: fmt.Errorf("on taskrun: %w", taskrunErr)}
	}
	return result{name: name, list: recording.Compare(nomad, taskrun, os.Geteuid() == 0)}
}
