package node

import (
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
	n := h.run.Machine
	return &api.AgentSelf{
		Config: map[string]any{
			"Region": n.Region, "Datacenter": n.Datacenter, "Version": h.version,
			"UI": map[string]any{"Enabled": false, "ShowCLIHints": false},
		},
		Member: h.member(),
		Stats: map[string]map[string]string{
			"client": {
				"node_id": n.ID, "known_servers": serverRPC, "num_allocations": strconv.Itoa(h.livingAllocs()),
			},
			"nomad": {
				"server": "true", "leader": "true", "leader_addr": serverRPC, "bootstrap": "true", "known_regions": "1",
			},
			"runtime": {
				"arch": runtime.GOARCH, "kernel.name": runtime.GOOS, "version": runtime.Version(),
				"max_procs": strconv.Itoa(runtime.GOMAXPROCS(0)), "cpu_count": strconv.Itoa(runtime.NumCPU()),
				"goroutines": strconv.Itoa(runtime.NumGoroutine()),
			},
			"taskrun": {
				"version": h.version, "data_dir": h.dataDir, "pid": strconv.Itoa(os.Getpid()),
			},
			"runs": h.run.Engine.RunDirs(),
		},
	}, nil
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
