package httpapi

import (
	"net/http"
	"os"
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
			"client": {"node_id": n.ID},
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
