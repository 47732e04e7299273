package cmd

import (
	"net"
	"os"
	"path/filepath"
	"time"

	"taskrun/cmd/client"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/neighbors"
	"taskrun/cmd/preflight"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
	"taskrun/drivers"
	"taskrun/drivers/process/keeper"
	"taskrun/engine"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/service"
	"taskrun/engine/leaf/variable"
	"taskrun/engine/leaf/workload"
	hooks "taskrun/hooks/catalog"
	hooklent "taskrun/hooks/lent"
	"taskrun/hooks/taskapi"
	"taskrun/jobspec"
)

// background is what a run needs to know beyond its jobs and the flags.
type background struct {
	dataDir  string
	watch    *keeper.Watch
	began    time.Time
	detached bool
	port     net.Listener // for the API, too; nil for none
}

// newRun joins the parts of a run. stop must be called in the end.
func newRun(a *app, files []jobfile.File, warnings jobspec.Diagnostics, opts upOptions, p verdict.Policy, b background) (r *run, stop func()) {
	node := preflight.Node(preflightFiles(files), a.health(), jobfile.Stubs(files).Node)
	node.DataDir, node.MemoryOversubscription = b.dataDir, opts.memoryMax
	r = &run{
		watch: b.watch, verdict: verdict.New(p, jobfile.Jobs(files)), now: opts.now, began: b.began, detached: b.detached,
		orders: make(chan bool), over: make(chan struct{}), dirs: map[string]string{}, dataDir: b.dataDir,
	}
	variables := &variable.Store{}
	stock := hooklent.New(jobfile.Stubs(files), variables, func(diagnostics jobspec.Diagnostics) { r.say(diagnostics) })
	pid := os.Getpid()
	if b.detached {
		pid = os.Getppid() // the keeper's, which stays
	}
	services := &service.Catalog{}
	dir, _ := a.sockets() // without one there are no other runs
	others := neighbors.New(dir, pid, services.Wake)
	elsewhere := others.Instances
	if opts.rehearse { // which depends on nobody else
		elsewhere = nil
	}
	keys := workload.NewKeyring()
	if b.detached { // a later engine must know the tokens of this one
		keys = workload.OpenKeyring(filepath.Join(b.dataDir, "workload-identity.jwk"))
	}
	var server *httpapi.Server
	var taskAPI taskapi.Serve
	if !opts.rehearse { // of which nobody else is to hear
		taskAPI = func(l net.Listener) { server.ServeTask(l) }
	}
	r.engine = engine.New(engine.Config{
		DataDir: b.dataDir,
		Drivers: a.drivers(),
		Hooks: hooks.New(hooks.Options{
			DataDir: b.dataDir, HostVolume: jobfile.Stubs(files).HostVolume, Lent: stock, Services: services,
			Keys: keys, TaskAPI: taskAPI, Elsewhere: elsewhere, Unprobed: opts.rehearse, Offline: opts.offline,
		}),
		Node:         node,
		HostEnv:      a.environ,
		PortDir:      portDir(a),
		Services:     services,
		Variables:    variables,
		LogicalPorts: opts.rehearse,
		MaxAllocs:    int(opts.maxAllocs),
		OnRun:        b.watch.Run,
		Durable:      b.detached,
	})
	if !opts.hostPaths {
		lendHostPaths(a.drivers(), b.dataDir)
	}
	for name, d := range a.drivers() {
		if d, ok := d.(drivers.Lasting); ok {
			d.OnUse(func(ref string) { b.watch.Lasting(name, ref) })
		}
	}
	socket, warning, unserve := "", "", func() {}
	r.serve = func() {}
	linger := time.Duration(0)
	if b.detached {
		linger = lingerTime
	}
	if !opts.rehearse {
		server, socket, warning, r.serve, unserve = serveRun(a, r.engine, httpapi.SocketName(*jobfile.Jobs(files)[0].ID, pid), b.port, httpapi.Config{
			Node: node, Version: currentVersion().Version, DataDir: b.dataDir, Keys: keys, StopRun: r.ordered, Linger: linger, Sources: jobfile.Sources(files),
			Preflight: apiPreflight(a, preflight.Case{
				Drivers: a.drivers(), Instead: opts.drivers, Services: hooks.Known(services, elsewhere), Environ: a.environ,
				DataDir: b.dataDir, MaxAllocs: int(opts.maxAllocs), HostPaths: opts.hostPaths, MemoryMax: opts.memoryMax,
			}, stock),
		})
	}
	r.reached = reached{client.Self{Version: currentVersion().Version, PID: pid, DataDir: b.dataDir}, socket}
	if warning != "" {
		warnings = append(warnings, jobspec.Diagnostic{Severity: jobspec.Warning, Summary: warning})
	}
	if b.detached {
		r.display = newRunLog()
		r.say(warnings)
	} else {
		r.display = view.New(a.streams, view.Options{
			Mode: opts.mode, Color: a.color, Time: opts.time, Verbose: opts.verbose,
			Jobs: jobfile.Jobs(files), Warnings: asDiagnostics(warnings),
			Begin: b.began, Version: currentVersion().Version, DataDir: b.dataDir, Socket: socket,
		})
	}
	b.watch.Begin(recordDir(socket), r.display.Say)
	if socket != "" {
		b.watch.Socket(socket)
	}
	var unwatch func()
	r.signals, unwatch = a.signals()
	return r, func() {
		unwatch()
		unserve()
		stock.Close()
		others.Close()
	}
}

// ordered takes the order of a client.
func (r *run) ordered(kill bool) {
	select {
	case r.orders <- kill:
	case <-r.over:
	}
}
