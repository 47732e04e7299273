package node

import (
	"net/http"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

// Metrics answers GET /v1/metrics with the current usage of the machine, the
// engine and the tasks, with Nomad's names; see
// https://developer.hashicorp.com/nomad/docs/reference/metrics.
func (h *Handler) Metrics(r *rest.Request) error {
	switch format := r.Query.Get("format"); format {
	case "":
		recent := h.requests.recent()
		return r.JSON(http.StatusOK, &api.MetricsSummary{
			Timestamp: time.Now().UTC().Format("2006-01-02 15:04:05 -0700 MST"),
			Gauges:    h.gauges(r.Context()),
			Points:    []api.PointValue{},
			Counters:  append(h.taskCounters(), sampled(requestCount, counted(recent.n))),
			Samples:   []api.SampledValue{sampled(requestTime, recent)},
		})
	case "prometheus":
		return r.Send(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", h.exposition(r.Context()))
	default:
		return rest.Fail(http.StatusBadRequest, "unknown format %q: it is prometheus or none", format)
	}
}
