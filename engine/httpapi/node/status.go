package node

import (
	"cmp"
	"errors"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/httpapi/tracker"
)

// Self answers GET /v1/agent/self. Hints are disabled: they would contain the
// address of a web interface that does not exist. The stats include the
// directories of the runs.
func (h *Handler) Self(*rest.Request) (any, error) {
	n, rpc := h.run.Machine, h.rpc()
	return &api.AgentSelf{
		Config: h.config(),
		Member: h.member(),
		Stats: map[string]map[string]string{
			"client": {
				"node_id": n.ID, "known_servers": rpc, "num_allocations": strconv.Itoa(h.livingAllocs()),
				"last_heartbeat": "0s", "heartbeat_ttl": "0s",
			},
			"nomad": {
				"server": "true", "leader": "true", "leader_addr": rpc, "bootstrap": "true", "known_regions": "1",
			},
			"raft": {"num_peers": "0"}, // for `nomad check`
			"runtime": {
				"arch": runtime.GOARCH, "kernel.name": runtime.GOOS, "version": runtime.Version(),
				"max_procs": strconv.Itoa(runtime.GOMAXPROCS(0)), "cpu_count": strconv.Itoa(runtime.NumCPU()),
				"goroutines": strconv.Itoa(runtime.NumGoroutine()),
			},
			"taskrun": h.facts(),
			"runs":    h.run.Engine.RunDirs(),
		},
	}, nil
}

// facts describes the engine to clients of taskrun.
func (h *Handler) facts() map[string]string {
	facts := map[string]string{"version": h.cfg.Version, "data_dir": h.cfg.DataDir, "pid": strconv.Itoa(os.Getpid())}
	maps.Copy(facts, h.cfg.Facts)
	return facts
}

// config returns the part of an agent's configuration that clients read.
func (h *Handler) config() map[string]any {
	n, ports := h.run.Machine, h.cfg.Ports
	firstPort, lastPort := h.run.Engine.Ports().Range()
	at := func(port int) string { return net.JoinHostPort(serverAddr, strconv.Itoa(port)) }
	return map[string]any{
		"Region": n.Region, "Datacenter": n.Datacenter, "NodeName": n.Name,
		"Version":        map[string]any{"Version": h.nomadVersion(), "VersionPrerelease": "", "VersionMetadata": h.build(), "Revision": ""},
		"DataDir":        h.cfg.DataDir,
		"DevMode":        h.cfg.Dev,
		"LogLevel":       "INFO",
		"EnableDebug":    false,
		"BindAddr":       serverAddr,
		"Ports":          ports,
		"Addresses":      map[string]string{"HTTP": serverAddr, "RPC": serverAddr, "Serf": serverAddr},
		"AdvertiseAddrs": map[string]string{"HTTP": at(ports.HTTP), "RPC": at(ports.RPC), "Serf": at(ports.Serf)},
		"Server":         map[string]any{"Enabled": true, "BootstrapExpect": 1},
		"Client": map[string]any{
			"Enabled": true, "NodeClass": n.Class, "NodePool": n.Pool, "Meta": nonNil(n.Meta),
			"MinDynamicPort": firstPort, "MaxDynamicPort": lastPort,
		},
		"ACL":       map[string]any{"Enabled": false},
		"TLSConfig": map[string]any{"EnableHTTP": false, "EnableRPC": false},
		"Telemetry": map[string]any{"PrometheusMetrics": true, "PublishAllocationMetrics": true, "PublishNodeMetrics": true},
		"UI":        map[string]any{"Enabled": false, "ShowCLIHints": false},
		"Consuls":   []any{},
		"Vaults":    []any{},
	}
}

func nonNil(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// Regions answers GET /v1/regions.
func (h *Handler) Regions(*rest.Request) (any, error) {
	return []string{h.run.Machine.Region}, nil
}

// livingAllocs returns how many allocations have not ended.
func (h *Handler) livingAllocs() (n int) {
	for _, a := range h.run.Engine.Allocs() {
		if !tracker.Terminal(a.Status) {
			n++
		}
	}
	return n
}

// Stats answers GET /v1/client/stats: the resources of this machine and their
// usage.
func (h *Handler) Stats(r *rest.Request) (any, error) {
	if id := r.Query.Get("node_id"); id != "" && id != h.run.Machine.ID {
		return nil, rest.Fail(http.StatusNotFound, "Unknown node %q", id)
	}
	return h.hostStats()
}

func (h *Handler) hostStats() (*api.HostStats, error) {
	stats, err := h.host.Sample(cmp.Or(h.cfg.DataDir, "."))
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, rest.Fail(http.StatusNotImplemented, "%v", err)
	}
	if err != nil {
		return nil, err
	}
	busy := 0.0
	for _, cpu := range stats.CPU {
		busy += 100 - cpu.Idle
	}
	if total, ok := h.run.Machine.Attribute("cpu.totalcompute"); ok && len(stats.CPU) > 0 {
		mhz, _ := strconv.ParseFloat(total, 64) // 0 if it cannot be measured
		stats.CPUTicksConsumed = mhz * busy / 100 / float64(len(stats.CPU))
	}
	return stats, nil
}
