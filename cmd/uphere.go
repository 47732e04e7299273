package cmd

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/rehearse"
	"taskrun/drivers"
	"taskrun/drivers/process/keeper"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/allocdir"
)

// upHere runs or rehearses jobs on this machine.
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
		return runDetach(ctx, a, files, warnings, opts, dataDir)
	}
	if opts.virtual {
		return rehearseVirtually(ctx, a, files, warnings, opts, p, dataDir)
	}
	port, err := listenHTTP(a, opts.http)
	if err != nil {
		return err
	}
	r, stop := newRun(a, files, warnings, opts, p, surroundings{dataDir: dataDir, watch: keeper.New(), began: time.Now(), port: port})
	defer stop()
	if opts.watch {
		r.follow = func(ctx context.Context) { watchFiles(ctx, a, r, jobFileNames(files), files, opts, opts.since) }
	}
	code, err := r.run(ctx, jobfile.Jobs(files))
	if err != nil {
		err = submitError(err, dataDir)
	} else {
		err = exit.Silent(code)
	}
	return opts.reports.Ended(r.ending(), err)
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
