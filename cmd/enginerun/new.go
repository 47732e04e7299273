package enginerun

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	hooks "taskrun/hooks/catalog"
	hookstubs "taskrun/hooks/stubs"

	"taskrun/cmd/ci"
	"taskrun/cmd/console"
	"taskrun/cmd/host"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/lookup"
	"taskrun/cmd/neighbors"
	"taskrun/cmd/preflight"
	"taskrun/cmd/source"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
	"taskrun/drivers"
	"taskrun/drivers/process/keeper"
	"taskrun/engine"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/chance"
	"taskrun/engine/leaf/runtimedir"
	"taskrun/engine/leaf/service"
	"taskrun/engine/leaf/variable"
	"taskrun/engine/leaf/workload"
	"taskrun/hooks/taskapi"
	"taskrun/jobspec"
	"taskrun/jobspec/taskenv"
	"taskrun/jobspec/visible"
)

// Options configure a run. They have passed the preflight.
type Options struct {
	Console  *console.Console
	Runs     *lookup.Finder
	Version  string // of taskrun
	Files    []jobfile.File
	Warnings jobspec.Diagnostics
	Policy   verdict.Policy
	Began    time.Time
	DataDir  string
	Port     net.Listener // for the API, beside the socket; nil: none

	Drivers   map[string]drivers.Driver
	Instead   map[string]string // drivers in place of others
	Node      *taskenv.Node     // which New completes
	Neighbors neighbors.Scope
	MaxAllocs int
	HostPaths bool // tasks may use paths of this machine
	MemoryMax bool // limit tasks to memory_max

	Now      bool   // launch periodic jobs at once
	Rehearse bool   // start no tasks
	Offline  bool   // download nothing
	Patient  bool   // jobs that have ended wait for another version, until they are stopped
	Seed     uint64 // of all chance in virtual time

	Watch   *keeper.Watch // nil: one of its own, which begins and ends with the run
	Follow  Follower      // nil: nothing follows the files of the run
	Serving func()        // called when clients are let in; may be nil
	Reports *ci.Reporter
	Screen  Screen       // nil: a view
	View    view.Options // of which the user decides Mode, Color, Time, Verbose, Prefix, Shows, Untested

	background bool
	given      []string         // of a run in the background, whose files do not know them: see jobfile.Given
	virtual    <-chan os.Signal // signals in virtual time; nil: in real time
}

// New joins the parts of a run. The caller must call stop in the end.
func New(o Options) (r *Run, stop func()) {
	r = &Run{
		watch: o.Watch, shared: o.Watch != nil && !o.background, verdict: verdict.New(o.Policy, jobfile.Jobs(o.Files)), now: o.Now, began: o.Began,
		orders: make(chan bool), over: make(chan struct{}), reports: o.Reports, follow: o.Follow, detached: o.background, virtual: o.virtual != nil,
		specs: func() (map[string][]byte, error) { return jobfile.Redacted(o.Files) },
	}
	if r.watch == nil {
		r.watch = keeper.New()
	}
	o.Node.DataDir, o.Node.MemoryOversubscription = o.DataDir, o.MemoryMax
	variables, services := &variable.Store{}, &service.Catalog{}
	set := jobfile.Stubs(o.Files)
	if r.virtual { // a virtual run does not follow the file
		still := *set
		still.File, set = "", &still
	}
	stubs := hookstubs.New(set, variables, r.sayEach)
	pid := os.Getpid()
	if r.detached {
		pid = os.Getppid() // the keeper's, which stays
	}
	dir, _ := o.Runs.Sockets() // without one there are no other runs
	others := neighbors.New(neighbors.Run{Sockets: dir, PID: pid, DataDir: o.DataDir, Scope: o.Neighbors}, services.Wake)
	elsewhere := others.Instances
	if o.Rehearse { // which depends on no other run
		elsewhere = nil
	}
	keys, random := o.chance()
	var server *httpapi.Server
	var taskAPI taskapi.Serve
	if !o.Rehearse { // which is not announced
		taskAPI = func(l net.Listener) { server.ServeTask(l) }
	}
	folders, running := host.Volumes(jobfile.Stubs(o.Files).HostVolume), func() *engine.Engine { return r.engine }
	r.engine = engine.New(engine.Config{
		DataDir: o.DataDir,
		Drivers: o.Drivers,
		Hooks: hooks.New(hooks.Options{
			Drivers: o.Drivers, DataDir: o.DataDir, HostVolume: folders.OrRegistered(running, o.DataDir), Stubs: stubs, Services: services,
			Keys: keys, TaskAPI: taskAPI, Elsewhere: elsewhere, Unprobed: o.Rehearse, Offline: o.Offline, Unsourced: o.Rehearse,
			Environment: !o.Rehearse && !r.virtual, Given: append(jobfile.Given(o.Files), o.given...),
		}),
		Node:         o.Node,
		HostEnv:      o.Console.Environ,
		PortDir:      host.PortDir(dir),
		Services:     services,
		Variables:    variables,
		LogicalPorts: o.Rehearse,
		MaxAllocs:    o.MaxAllocs,
		OnRun:        r.watch.Run,
		Chance:       random,
		Durable:      r.detached,
		Patient:      o.Patient,
	})
	host.JoinDrivers(o.Drivers, r.watch, o.DataDir, o.HostPaths)
	unserve := func() {}
	if !o.Rehearse {
		cfg := httpapi.Config{
			Node: o.Node, Version: o.Version, DataDir: o.DataDir, Keys: keys, StopRun: r.Stop, Sources: jobfile.Sources(o.Files),
			Preflight: host.Preflight(preflight.Case{
				Drivers: o.Drivers, Instead: o.Instead, Services: hooks.Known(services, elsewhere), Environ: o.Console.Environ,
				DataDir: o.DataDir, MaxAllocs: o.MaxAllocs, HostPaths: o.HostPaths, MemoryMax: o.MemoryMax,
				HostVolume: folders.Known(running),
			}, stubs),
		}
		if r.detached {
			cfg.Linger = host.LingerTime
		}
		var warning string
		server, r.socket, warning, r.serve, unserve = host.Serve(o.Runs, r.engine, httpapi.SocketName(*jobfile.Jobs(o.Files)[0].ID, pid), o.Port, cfg)
		if warning != "" {
			o.Warnings = append(o.Warnings, jobspec.Diagnostic{Severity: jobspec.Warning, Summary: warning})
		}
		if o.Serving != nil {
			let := r.serve
			r.serve = sync.OnceFunc(func() {
				let()
				o.Serving()
			})
		}
	}
	r.warnings = console.CountWarnings(o.Warnings)
	r.display = o.screen(r.socket)
	if r.detached {
		r.sayEach(o.Warnings)
	}
	unwatch := func() {}
	if r.virtual { // it starts no process, and its caller removes its directory
		r.signals = o.virtual
	} else {
		if !r.shared {
			r.watch.Begin(o.recordDir(dir), r.display.Say)
		}
		r.signals, unwatch = o.Console.Signals()
	}
	if r.socket != "" {
		r.watch.Socket(r.socket)
	}
	return r, func() {
		unwatch()
		unserve()
		stubs.Close()
		others.Close()
	}
}

// chance returns what signs the tokens of tasks, and where random numbers come from.
func (o *Options) chance() (*workload.Keyring, chance.Source) {
	switch {
	case o.virtual != nil:
		random := chance.Seeded(o.Seed)
		return workload.NewSeeded(random), random
	case o.background: // a later engine must know the tokens of this one
		return workload.OpenKeyring(filepath.Join(o.DataDir, "workload-identity.jwk")), chance.Source{}
	}
	return workload.NewKeyring(), chance.Source{}
}

// screen returns where the run is shown.
func (o *Options) screen(socket string) Screen {
	switch {
	case o.background:
		return newRunLog()
	case o.Screen != nil:
		return o.Screen
	}
	v := o.View
	v.Jobs, v.Warnings = jobfile.Jobs(o.Files), console.AsDiagnostics(o.Warnings)
	v.Begin, v.Version, v.DataDir, v.Socket, v.Virtual = o.Began, o.Version, o.DataDir, socket, o.virtual != nil
	return view.New(o.Console.Streams, v)
}

// recordDir returns where the keeper's record of a run is kept: in the directory of
// sockets, where only the user can be, even if its path is too long for a socket.
// Without one, and in a rehearsal, which starts no process, the record has no name.
func (o *Options) recordDir(sockets string) string {
	if sockets == "" || o.Rehearse || runtimedir.Make(sockets) != nil {
		return ""
	}
	return sockets
}

// runLog is the screen of a run in the background: its stderr is the log of the
// run, with the messages of taskrun. The rest is in the history.
type runLog struct{ source.Notices }

func newRunLog() *runLog {
	return &runLog{func(text string) {
		at := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		fmt.Fprintf(os.Stderr, "%s %s\n", at, strings.ReplaceAll(visible.Text(strings.TrimSpace(text)), "\n", "\n\t"))
	}}
}

// End writes how the run has ended.
func (l *runLog) End(r view.Result) {
	text := fmt.Sprintf("the run has ended with exit code %d", r.ExitCode)
	if r.Cause != "" {
		text += ": " + r.Cause
	}
	l.Say(text)
}
