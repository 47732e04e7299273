package httpapi

import (
	"net/http"
	"os"
	"runtime"
	"strconv"

	"github.com/hashicorp/nomad/api"
)

// agentSelf answers GET /v1/agent/self. Hints are switched off: they would
// name the address of a web interface that does not exist. Among the stats are
// the directories of the runs.
func (s *Server) agentSelf(http.ResponseWriter, *request) (any, error) {
	n := s.cfg.Node
	return &api.AgentSelf{
		Config: map[string]any{
			"Region": n.Region, "Datacenter": n.Datacenter, "Version": s.cfg.Version,
			"UI": map[string]any{"Enabled": false, "ShowCLIHints": false},
		},
		Member: s.member(),
		Stats: map[string]map[string]string{
			"client": {
				"node_id": n.ID, "known_servers": serverRPC, "num_allocations": strconv.Itoa(s.livingAllocs()),
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
				"version": s.cfg.Version, "data_dir": s.cfg.DataDir, "pid": strconv.Itoa(os.Getpid()),
			},
			"runs": s.engine.RunDirs(),
		},
	}, nil
}

// listRegions answers GET /v1/regions.
func (s *Server) listRegions(http.ResponseWriter, *request) (any, error) {
	return []string{s.cfg.Node.Region}, nil
}

// livingAllocs is how many allocations have not ended.
func (s *Server) livingAllocs() (n int) {
	for _, a := range s.engine.Allocs() {
		if !terminal(a.Status) {
			n++
		}
	}
	return n
}
