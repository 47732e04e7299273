package httpapi

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"

	"github.com/hashicorp/nomad/api"
)

// clientStats answers GET /v1/client/stats: what this machine has and uses.
func (s *Server) clientStats(_ http.ResponseWriter, r *request) (any, error) {
	if id := r.query.Get("node_id"); id != "" && id != s.cfg.Node.ID {
		return nil, fail(http.StatusNotFound, "Unknown node %q", id)
	}
	return s.hostStats()
}

func (s *Server) hostStats() (*api.HostStats, error) {
	stats, err := s.host.Sample(cmp.Or(s.cfg.DataDir, "."))
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, fail(http.StatusNotImplemented, "%v", err)
	}
	if err != nil {
		return nil, err
	}
	busy := 0.0
	for _, cpu := range stats.CPU {
		busy += 100 - cpu.Idle
	}
	if total, ok := s.cfg.Node.Attribute("cpu.totalcompute"); ok && len(stats.CPU) > 0 {
		mhz, _ := strconv.ParseFloat(total, 64) // 0 where it cannot be measured
		stats.CPUTicksConsumed = mhz * busy / 100 / float64(len(stats.CPU))
	}
	return stats, nil
}
