package cmd

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"taskrun/cmd/console"
	"taskrun/cmd/enginerun"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/preflight"
	"taskrun/cmd/rehearse"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
	"taskrun/drivers"
	"taskrun/engine"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/allocdir"
	"taskrun/jobspec"
)

func upHere(ctx context.Context, a *app, args []string, opts upOptions) error {
	if err := opts.checkHere(); err != nil {
		return err
	}
	defer opts.reports.CloseSection()
	opts.since = time.Now()
	dataDir, removeData, err := dataDirFor(a, opts)
	if err != nil {
		return err
	}
	defer removeData()
	var stage *rehearse.Rehearsal
	if opts.rehearse {
		opts.virtual, opts.offline = !opts.download, !opts.download
		stage = rehearse.New(a.drivers())
		stage.Lagged = opts.virtual
		a.drivers = func() map[string]drivers.Driver { return stage.Drivers }
		a.healthOf = nil
	}
	files, warnings, err := readToRun(ctx, a, args, &opts, dataDir, stage)
	if err != nil {
		return err
	}
	p, err := opts.policy(files)
	if err == nil && opts.watch {
		err = checkWatchable(files)
	}
	if err != nil {
		return err
	}
	if stage != nil {
		p.Stage = stage
		warnings = append(warnings, rehearse.Notice())
	}
	if opts.ui {
		return upOnScreen(ctx, a, files, warnings, opts, dataDir)
	}
	if opts.detach {
		d, err := detach(a, files, warnings, opts, dataDir)
		if err != nil {
			return err
		}
		return reportDetached(ctx, a, jobfile.Jobs(files), opts, d)
	}
	o := opts.engineRun(a, files, warnings, p, dataDir)
	if opts.virtual {
		return enginerun.Virtually(ctx, o)
	}
	if o.Port, err = listenHTTP(a, opts.http); err != nil {
		return err
	}
	if opts.watch {
		o.Follow = func(ctx context.Context, e *engine.Engine) {
			watchFiles(ctx, a, e, jobFileNames(files), files, opts, opts.since)
		}
	}
	r, stop := enginerun.New(o)
	defer stop()
	code, err := r.Run(ctx, jobfile.Jobs(files))
	if err != nil {
		err = enginerun.Refused(err, dataDir)
	} else {
		err = exit.Silent(code)
	}
	return opts.reports.Ended(r.Ending(), err)
}

// engineRun returns the options of a run by an engine in this process.
func (o *upOptions) engineRun(a *app, files []jobfile.File, warnings jobspec.Diagnostics, p verdict.Policy, dataDir string) enginerun.Options {
	instead, _ := o.instead(a.drivers()) // the preflight has refused mistakes
	return enginerun.Options{
		Console: a.Console, Runs: a.runs, Version: currentVersion().Version, Files: files, Warnings: warnings, Policy: p, Began: time.Now(), DataDir: dataDir,
		Drivers: a.drivers(), Instead: instead, Node: preflight.Node(preflightFiles(files), a.health(), jobfile.Stubs(files).Node),
		Neighbors: o.neighbors, MaxAllocs: int(o.maxAllocs), HostPaths: o.hostPaths, MemoryMax: o.memoryMax,
		Now: o.now, Rehearse: o.rehearse, Offline: o.offline, Patient: o.watch, Seed: o.seed, Reports: o.reports,
		View: view.Options{
			Mode: o.mode, Color: a.Color, Time: o.time, Verbose: o.verbose, Prefix: o.shown.prefix, Shows: o.shown.filter(jobfile.Jobs(files)),
			Untested: console.AsDiagnostics(o.untested),
		},
	}
}

// dataDirFor returns the data directory of a run. One of its own is removed at
// the end.
func dataDirFor(a *app, opts upOptions) (dir string, remove func(), err error) {
	if !opts.ownData {
		dir, err = a.runs.DataDir(opts.dataDir)
		return dir, func() {}, err
	}
	if dir, err = os.MkdirTemp("", "taskrun-rehearsal-"); err != nil {
		return "", nil, fmt.Errorf("cannot make a data directory for the rehearsal: %w", err)
	}
	return dir, func() {
		if err := allocdir.Remove(dir); err != nil {
			a.Report("", fmt.Sprintf("cannot remove the data directory of the rehearsal: %v", err))
		}
	}, nil
}

// listenHTTP listens at a port for Nomad tools that cannot use sockets. It
// prints the address and the token, which appear nowhere else.
func listenHTTP(a *app, addr string) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	token := httpapi.NewToken()
	l, err := httpapi.ListenTCP(addr, token)
	if err != nil {
		return nil, exit.Usage("--http: %w", err)
	}
	fmt.Fprintf(a.Streams.Err, "Nomad's tools can talk to this run:\n  export NOMAD_ADDR=http://%s NOMAD_TOKEN=%s\n", l.Addr(), token)
	return l, nil
}
