package resident

import (
	"cmp"
	"errors"
	"maps"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	hooks "taskrun/hooks/catalog"
	hookstubs "taskrun/hooks/stubs"

	"taskrun/cmd/agent/logfile"
	"taskrun/cmd/agent/settings"
	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/garbage"
	"taskrun/cmd/host"
	"taskrun/cmd/lookup"
	"taskrun/cmd/neighbors"
	"taskrun/cmd/preflight"
	"taskrun/drivers/process/keeper"
	"taskrun/engine"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/service"
	"taskrun/engine/leaf/variable"
	"taskrun/engine/leaf/workload"
	"taskrun/engine/port"
	"taskrun/hooks/taskapi"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// Sizes of the log of an agent in the background.
const (
	logSize  = 10 << 20
	logFiles = 3 // besides the current one
)

// Agent is an agent: an engine that runs any number of jobs until it is stopped.
type Agent struct {
	console *console.Console
	runs    *lookup.Finder
	drivers map[string]drivers.Driver
	opts    Options
	dir     *datadir.Agent
	sockets string
	pid     int // in the name of the socket
	log     *agentLog
	watch   *keeper.Watch
	engine  *engine.Engine
	api     httpapi.Config
	port    net.Listener // may be nil
	token   string       // of the port; empty: none

	server *httpapi.Server
	socket string
	asked  atomic.Int64 // when a client asked last, in ns
	tidier *garbage.Tidier
	// closers are called at the end, the last one first.
	closers []func()
}

// Options configure an agent.
type Options struct {
	Settings  settings.Settings
	DataDir   string
	Address   string // of the port; empty: none
	Open      bool   // the port requires no token
	Dev       bool   // it keeps nothing
	Idle      time.Duration
	Level     Level
	Hosts     []string          // names in requests to the port
	StubsFile string            // empty: none
	Instead   map[string]string // drivers in place of others
	Neighbors neighbors.Scope
	MaxAllocs int
	HostPaths bool
	MemoryMax bool
	Version   string
}

// New returns an agent that is about to run. On error nothing is left.
func New(c *console.Console, runs *lookup.Finder, all map[string]drivers.Driver, watch *keeper.Watch, opts Options) (_ *Agent, err error) {
	resumed, err := watch.Resumed()
	if err != nil {
		return nil, err
	}
	var lock *os.File
	if resumed {
		lock = watch.Held(agentLock)
	}
	r := &Agent{console: c, runs: runs, drivers: all, opts: opts, pid: os.Getpid(), watch: watch}
	if watch.Detached() {
		r.pid = os.Getppid() // the keeper's, which stays
	}
	if r.sockets, err = runs.Sockets(); err != nil {
		return nil, err // clients could not use the agent
	}
	if r.dir, err = datadir.OpenAgent(opts.DataDir, lock); err != nil {
		return nil, err
	}
	r.closers = append(r.closers, func() { _ = r.dir.Close() })
	watch.Lock(r.dir.Lock())
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	r.log = newAgentLog(c.Streams.Err, opts.Level)
	if watch.Detached() {
		file, err := logfile.Open(LogPath(opts.DataDir), logSize, logFiles)
		if err != nil {
			return nil, err
		}
		r.closers = append(r.closers, func() { _ = file.Close() })
		r.log.to = file
	}
	if err := r.listen(); err != nil {
		return nil, err
	}
	return r, r.join()
}

// listen opens the port, if there is one.
func (r *Agent) listen() (err error) {
	addr := r.opts.Address
	if addr == "" {
		return nil
	}
	if host, number, err := net.SplitHostPort(addr); err == nil && number == "0" && r.watch.Detached() {
		addr = r.earlierAddress(host, addr) // clients know that one
	}
	if !r.opts.Open {
		if r.token, err = token(r.dir); err != nil {
			return err
		}
	}
	port, err := httpapi.ListenTCP(addr, r.token)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return exit.Usage("%w", err).WithHint("stop the program that has the port, or choose another with --http")
	case err != nil:
		return exit.Usage("%w", err)
	}
	r.port = port
	r.closers = append(r.closers, func() { _ = port.Close() })
	return os.WriteFile(r.dir.Path(agentAddress), []byte(r.port.Addr().String()+"\n"), 0o600)
}

// earlierAddress returns the address that an earlier agent chose, if it is at the
// same host.
func (r *Agent) earlierAddress(host, otherwise string) string {
	text, err := os.ReadFile(r.dir.Path(agentAddress))
	earlier := strings.TrimSpace(string(text))
	if at, _, splitErr := net.SplitHostPort(earlier); err == nil && splitErr == nil && at == host {
		return earlier
	}
	return otherwise
}

// close releases what the agent has.
func (r *Agent) close() {
	for len(r.closers) > 0 {
		last := len(r.closers) - 1
		f := r.closers[last]
		r.closers = r.closers[:last]
		f()
	}
}

// agentNode describes the machine as the settings of an agent have it.
func agentNode(set settings.Settings, stubs *stub.Set) *taskenv.Node {
	node := preflight.Node(nil, nil, stubs.Node)
	node.Name = cmp.Or(set.Name, node.Name)
	node.Datacenter = cmp.Or(set.Datacenter, node.Datacenter)
	node.Region = cmp.Or(set.Region, node.Region)
	node.Class = cmp.Or(set.Client.Class, node.Class)
	node.Pool = cmp.Or(set.Client.Pool, node.Pool)
	meta := defaultMeta()
	maps.Copy(meta, set.Client.Meta)
	maps.Copy(meta, node.Meta)
	node.Meta = meta
	return node
}

// defaultMeta returns the metadata of a Nomad client that its configuration does
// not mention. Job files of others refer to it.
func defaultMeta() map[string]string {
	const envoy = "docker.io/envoyproxy/envoy:v${NOMAD_envoy_version}"
	return map[string]string{
		"connect.sidecar_image": envoy, "connect.gateway_image": envoy, "connect.log_level": "info", "connect.proxy_concurrency": "1",
		"connect.transparent_proxy.default_uid": "101", "connect.transparent_proxy.default_outbound_port": "15001",
	}
}

// join joins the parts of an agent: its engine, drivers, hooks and stubs.
func (r *Agent) join() error {
	opts, set := r.opts, r.opts.Settings
	stubs := stub.None()
	if file := opts.StubsFile; file != "" {
		read, diagnostics := stub.Read(file)
		if diagnostics.HasErrors() {
			return exit.Usage("%w", diagnostics)
		}
		stubs = read.Filled()
	}
	node := agentNode(set, stubs)
	node.DataDir, node.MemoryOversubscription = opts.DataDir, opts.MemoryMax
	variables, services := &variable.Store{}, &service.Catalog{}
	current := hookstubs.New(stubs, variables, r.log.diagnostics)
	others := neighbors.New(neighbors.Run{Sockets: r.sockets, PID: r.pid, DataDir: opts.DataDir, Scope: opts.Neighbors}, services.Wake)
	r.closers = append(r.closers, current.Close, others.Close)
	keys := workload.OpenKeyring(r.dir.Path("workload-identity.jwk"))
	var taskAPI taskapi.Serve = func(l net.Listener) { r.server.ServeTask(l) }
	folders, running := hostVolumes(set, stubs), func() *engine.Engine { return r.engine }
	r.engine = engine.New(engine.Config{
		DataDir: opts.DataDir, StateDir: r.dir.Dir, Resident: true,
		Drivers: r.drivers,
		Hooks: hooks.New(hooks.Options{
			Drivers: r.drivers, DataDir: opts.DataDir, HostVolume: folders.OrRegistered(running, opts.DataDir), Stubs: current, Services: services,
			Keys: keys, TaskAPI: taskAPI, Elsewhere: others.Instances, Environment: true,
		}),
		Node: node, HostEnv: r.console.Environ, PortDir: host.PortDir(r.sockets), Ports: port.Rules{First: set.Client.MinPort, Last: set.Client.MaxPort, Reserved: set.Client.ReservedPorts}, Services: services, Variables: variables,
		MaxAllocs: opts.MaxAllocs, MaxKillTimeout: set.Client.MaxKillTimeout, OnRun: r.watch.Keep,
	})
	host.JoinDrivers(r.drivers, r.watch, opts.DataDir, opts.HostPaths)
	r.api = httpapi.Config{
		Node: node, Version: opts.Version, DataDir: opts.DataDir, Keys: keys, AllowHosts: opts.Hosts, Dev: opts.Dev,
		Facts: map[string]string{"agent": "true", "detached": strconv.FormatBool(r.watch.Detached())},
		Seen:  func() { r.asked.Store(time.Now().UnixNano()) },
		Preflight: host.Preflight(preflight.Case{
			Drivers: r.drivers, Instead: opts.Instead, Services: hooks.Known(services, others.Instances), Environ: r.console.Environ,
			DataDir: opts.DataDir, MaxAllocs: opts.MaxAllocs, HostPaths: opts.HostPaths, MemoryMax: opts.MemoryMax,
			HostVolume: folders.Known(running),
		}, current),
	}
	// Nothing listens at these ports, which clients show; they are Nomad's.
	r.api.Ports.RPC, r.api.Ports.Serf = 4647, 4648
	r.api.HostVolumes = map[string]*api.HostVolumeInfo{}
	for name, v := range set.Client.HostVolumes {
		r.api.HostVolumes[name] = &api.HostVolumeInfo{Path: v.Path, ReadOnly: v.ReadOnly}
	}
	if r.port != nil {
		r.api.Facts["address"], r.api.Facts["open"] = r.port.Addr().String(), strconv.FormatBool(r.token == "")
		if at, ok := r.port.Addr().(*net.TCPAddr); ok {
			r.api.Ports.HTTP = at.Port
		}
	}
	return nil
}

func hostVolumes(set settings.Settings, stubs *stub.Set) host.Volumes {
	return func(source string) (path string, readOnly, ok bool) {
		if v, ok := set.Client.HostVolumes[source]; ok {
			return v.Path, v.ReadOnly, true
		}
		return stubs.HostVolume(source)
	}
}
