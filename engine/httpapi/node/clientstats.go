package node

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

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
