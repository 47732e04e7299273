package cmd

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	hooks "taskrun/hooks/catalog"
	hookstubs "taskrun/hooks/stubs"

	"taskrun/cmd/console"
	"taskrun/cmd/host"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/neighbors"
	"taskrun/cmd/preflight"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
	"taskrun/drivers/process/keeper"
	"taskrun/engine"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/chance"
	"taskrun/engine/leaf/service"
	"taskrun/engine/leaf/variable"
	"taskrun/engine/leaf/workload"
	"taskrun/hooks/taskapi"
	"taskrun/jobspec"
	"taskrun/jobspec/visible"
)

// surroundings are what a run needs besides its jobs and flags.
type surroundings struct {
	dataDir  string
	watch    *keeper.Watch
	began    time.Time
	detached bool
	given    []string     // of a run in the background, whose files do not know them: see jobfile.Given
	port     net.Listener // for the API, beside the socket; nil for none
	virtual  *virtualTime // nil: in real time
	screen   runScreen    // instead of the view of the output mode; may be nil
	shared   bool         // the caller has begun the watch, and closes it
}

// newRun joins the parts of a run. The caller must call stop in the end.
func newRun(a *app, files []jobfile.File, warnings jobspec.Diagnostics, opts upOptions, p verdict.Policy, b surroundings) (r *engineRun, stop func()) {
	node := preflight.Node(preflightFiles(files), a.health(), jobfile.Stubs(files).Node)
	node.DataDir, node.MemoryOversubscription = b.dataDir, opts.memoryMax
	r = &engineRun{
		watch: b.watch, verdict: verdict.New(p, jobfile.Jobs(files)), now: opts.now, began: b.began, detached: b.detached, shared: b.shared,
		orders: make(chan bool), over: make(chan struct{}), dataDir: b.dataDir, reports: opts.reports,
		specs: func() (map[string][]byte, error) { return jobfile.Redacted(files) },
	}
	variables := &variable.Store{}
	set := jobfile.Stubs(files)
	if b.virtual != nil { // in which nobody changes the file
		still := *set
		still.File, set = "", &still
	}
	stubs := hookstubs.New(set, variables, func(diagnostics jobspec.Diagnostics) { r.sayEach(diagnostics) })
	pid := os.Getpid()
	if b.detached {
		pid = os.Getppid() // the keeper's, which stays
	}
	services := &service.Catalog{}
	dir, _ := a.runs.Sockets() // without one there are no other runs
	others := neighbors.New(neighbors.Run{Sockets: dir, PID: pid, DataDir: b.dataDir, Scope: opts.neighbors}, services.Wake)
	elsewhere := others.Instances
	if opts.rehearse { // which depends on no other run
		elsewhere = nil
	}
	keys := workload.NewKeyring()
	random := chance.Source{}
	switch {
	case b.virtual != nil:
		random = chance.Seeded(b.virtual.seed)
		keys = workload.NewSeeded(random)
	case b.detached: // a later engine must know the tokens of this one
		keys = workload.OpenKeyring(filepath.Join(b.dataDir, "workload-identity.jwk"))
	}
	var server *httpapi.Server
	var taskAPI taskapi.Serve
	if !opts.rehearse { // which is not announced
		taskAPI = func(l net.Listener) { server.ServeTask(l) }
	}
	folders, running := host.Volumes(jobfile.Stubs(files).HostVolume), func() *engine.Engine { return r.engine }
	r.engine = engine.New(engine.Config{
		DataDir: b.dataDir,
		Drivers: a.drivers(),
		Hooks: hooks.New(hooks.Options{
			Drivers: a.drivers(), DataDir: b.dataDir, HostVolume: folders.OrRegistered(running, b.dataDir), Stubs: stubs, Services: services,
			Keys: keys, TaskAPI: taskAPI, Elsewhere: elsewhere, Unprobed: opts.rehearse, Offline: opts.offline, Unsourced: opts.rehearse,
			Environment: !opts.rehearse && b.virtual == nil, Given: append(jobfile.Given(files), b.given...),
		}),
		Node:         node,
		HostEnv:      a.Environ,
		PortDir:      host.PortDir(dir),
		Services:     services,
		Variables:    variables,
		LogicalPorts: opts.rehearse,
		MaxAllocs:    int(opts.maxAllocs),
		OnRun:        b.watch.Run,
		Chance:       random,
		Durable:      b.detached,
		Patient:      opts.watch,
	})
	host.JoinDrivers(a.drivers(), b.watch, b.dataDir, opts.hostPaths)
	warning, unserve := "", func() {}
	linger := time.Duration(0)
	if b.detached {
		linger = host.LingerTime
	}
	if !opts.rehearse {
		instead, _ := opts.instead(a.drivers()) // the preflight of the run has refused mistakes
		server, r.socket, warning, r.serve, unserve = host.Serve(a.runs, r.engine, httpapi.SocketName(*jobfile.Jobs(files)[0].ID, pid), b.port, httpapi.Config{
			Node: node, Version: currentVersion().Version, DataDir: b.dataDir, Keys: keys, StopRun: r.takeOrder, Linger: linger, Sources: jobfile.Sources(files),
			Preflight: host.Preflight(preflight.Case{
				Drivers: a.drivers(), Instead: instead, Services: hooks.Known(services, elsewhere), Environ: a.Environ,
				DataDir: b.dataDir, MaxAllocs: int(opts.maxAllocs), HostPaths: opts.hostPaths, MemoryMax: opts.memoryMax,
				HostVolume: folders.Known(running),
			}, stubs),
		})
	}
	if warning != "" {
		warnings = append(warnings, jobspec.Diagnostic{Severity: jobspec.Warning, Summary: warning})
	}
	r.warnings = console.CountWarnings(warnings)
	switch {
	case b.detached:
		r.display = newRunLog()
		r.sayEach(warnings)
	case b.screen != nil:
		r.display = b.screen
	default:
		r.display = view.New(a.Streams, view.Options{
			Mode: opts.mode, Color: a.Color, Time: opts.time, Verbose: opts.verbose,
			Prefix: opts.shown.prefix, Shows: opts.shown.filter(jobfile.Jobs(files)),
			Jobs: jobfile.Jobs(files), Warnings: console.AsDiagnostics(warnings), Untested: console.AsDiagnostics(opts.untested),
			Begin: b.began, Version: currentVersion().Version, DataDir: b.dataDir, Socket: r.socket, Virtual: b.virtual != nil,
		})
	}
	unwatch := func() {}
	if b.virtual != nil { // it starts no process, and its caller removes its directory
		r.virtual, r.signals = true, b.virtual.signals
	} else {
		if !b.shared {
			b.watch.Begin(recordDir(r.socket), r.display.Say)
		}
		r.signals, unwatch = a.Signals()
	}
	if r.socket != "" {
		b.watch.Socket(r.socket)
	}
	return r, func() {
		unwatch()
		unserve()
		stubs.Close()
		others.Close()
	}
}

// recordDir returns where the keeper's record of a run is kept: beside its
// socket, where only the user can be. A run without a socket has none.
func recordDir(socket string) string {
	if socket == "" {
		return ""
	}
	return filepath.Dir(socket)
}

// runLog is the screen of a run in the background: its stderr is the log of the
// run, with the messages of taskrun. The rest is in the history.
type runLog struct{ notices }

func newRunLog() *runLog {
	return &runLog{func(text string) {
		at := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		fmt.Fprintf(os.Stderr, "%s %s\n", at, strings.ReplaceAll(visible.Text(strings.TrimSpace(text)), "\n", "\n\t"))
	}}
}

// End writes how the run has ended.
func (n *runLog) End(r view.Result) {
	text := fmt.Sprintf("the run has ended with exit code %d", r.ExitCode)
	if r.Cause != "" {
		text += ": " + r.Cause
	}
	n.Say(text)
}

// virtualTime is what a run in virtual time has in place of the outside.
type virtualTime struct {
	signals <-chan os.Signal
	seed    uint64
}
