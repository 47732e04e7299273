package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	hooks "taskrun/hooks/catalog"
	hookstubs "taskrun/hooks/stubs"

	"taskrun/cmd/agent/settings"
	"taskrun/cmd/exit"
	"taskrun/cmd/host"
	"taskrun/cmd/neighbors"
	"taskrun/cmd/preflight"
	"taskrun/drivers/process/keeper"
	"taskrun/engine"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/service"
	"taskrun/engine/leaf/variable"
	"taskrun/engine/leaf/workload"
	"taskrun/engine/port"
	"taskrun/hooks/taskapi"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

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
func (r *resident) join(opts agentOptions, set settings.Settings) error {
	a := r.a
	stubs := stub.None()
	if file := opts.stubsFile(); file != "" {
		read, diagnostics := stub.Read(file)
		if diagnostics.HasErrors() {
			return exit.Usage("%w", diagnostics)
		}
		stubs = read.Filled()
	}
	instead, err := opts.instead(a.drivers())
	if err != nil {
		return err
	}
	node := agentNode(set, stubs)
	node.DataDir, node.MemoryOversubscription = r.dataDir, opts.memoryMax
	variables, services := &variable.Store{}, &service.Catalog{}
	current := hookstubs.New(stubs, variables, r.log.diagnostics)
	others := neighbors.New(neighbors.Run{Sockets: r.sockets, PID: r.pid, DataDir: r.dataDir, Scope: opts.neighbors}, services.Wake)
	r.closers = append(r.closers, current.Close, others.Close)
	keys := workload.OpenKeyring(r.dir.Path("workload-identity.jwk"))
	var taskAPI taskapi.Serve = func(l net.Listener) { r.server.ServeTask(l) }
	folders, running := hostVolumes(set, stubs), func() *engine.Engine { return r.engine }
	r.engine = engine.New(engine.Config{
		DataDir: r.dataDir, StateDir: r.dir.Dir, Resident: true,
		Drivers: a.drivers(),
		Hooks: hooks.New(hooks.Options{
			Drivers: a.drivers(), DataDir: r.dataDir, HostVolume: folders.OrRegistered(running, r.dataDir), Stubs: current, Services: services,
			Keys: keys, TaskAPI: taskAPI, Elsewhere: others.Instances, Environment: true,
		}),
		Node: node, HostEnv: a.Environ, PortDir: host.PortDir(r.sockets), Ports: port.Rules{First: set.Client.MinPort, Last: set.Client.MaxPort, Reserved: set.Client.ReservedPorts}, Services: services, Variables: variables,
		MaxAllocs: int(opts.maxAllocs), MaxKillTimeout: set.Client.MaxKillTimeout, OnRun: r.watch.Keep,
	})
	host.JoinDrivers(a.drivers(), r.watch, r.dataDir, opts.hostPaths)
	r.api = httpapi.Config{
		Node: node, Version: currentVersion().Version, DataDir: r.dataDir, Keys: keys, AllowHosts: opts.hosts, Dev: opts.dev,
		Facts: map[string]string{"agent": "true", "detached": strconv.FormatBool(r.watch.Detached())},
		Seen:  func() { r.asked.Store(time.Now().UnixNano()) },
		Preflight: host.Preflight(preflight.Case{
			Drivers: a.drivers(), Instead: instead, Services: hooks.Known(services, others.Instances), Environ: a.Environ,
			DataDir: r.dataDir, MaxAllocs: int(opts.maxAllocs), HostPaths: opts.hostPaths, MemoryMax: opts.memoryMax,
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

// hostVolumes returns the directories of host volumes, by name.
func hostVolumes(set settings.Settings, stubs *stub.Set) host.Volumes {
	return func(source string) (path string, readOnly, ok bool) {
		if v, ok := set.Client.HostVolumes[source]; ok {
			return v.Path, v.ReadOnly, true
		}
		return stubs.HostVolume(source)
	}
}

// token returns the token of the port, which outlives the agent.
func token(dir *allocdir.Agent) (string, error) {
	path := dir.Path("token")
	text, err := os.ReadFile(path)
	if t := strings.TrimSpace(string(text)); err == nil && len(t) == len(httpapi.NewToken()) {
		return t, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("cannot read the token of the agent: %w", err)
	}
	t := httpapi.NewToken()
	_ = os.Remove(path) // one that was cut off
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.WriteString(t + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return "", fmt.Errorf("cannot keep the token of the agent: %w", err)
	}
	return t, nil
}

// agentError adds hints to errors of the start of an agent.
func agentError(err error, dataDir string) error {
	if errors.Is(err, allocdir.ErrAgent) {
		return exit.Running("%w", err).WithHint("run jobs in it with: taskrun up --agent; stop it with: taskrun agent stop; give this one another directory with: --data-dir DIR")
	}
	return readOnly(err, dataDir)
}

// scratchData returns a data directory that is removed at the end, even if this
// program is killed.
func scratchData(a *app, watch *keeper.Watch) (dir string, remove func(), err error) {
	if dir, err = allocdir.MakeScratch(); err != nil {
		return "", nil, err
	}
	watch.Scratch(dir)
	return dir, func() {
		if err := allocdir.RemoveScratch(dir); err != nil {
			a.Report("", fmt.Sprintf("cannot remove the data directory of the agent: %v", err))
		}
	}, nil
}
