package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// exposition returns all metrics for Prometheus; see
// https://prometheus.io/docs/instrumenting/exposition_formats.
func (h *Handler) exposition(ctx context.Context) []byte {
	n, seconds := h.requests.sum()
	totals := []api.GaugeValue{}
	for _, c := range h.taskCounters() {
		totals = append(totals, api.GaugeValue{Name: c.Name, Value: float32(c.Sum), DisplayLabels: c.DisplayLabels})
	}
	totals = append(totals, api.GaugeValue{Name: requestCount, Value: float32(n)})
	text := expose(nil, "gauge", h.gauges(ctx))
	text = expose(text, "counter", totals)
	name := exposed(requestTime)
	return fmt.Appendf(text, "# HELP %[1]s %[1]s\n# TYPE %[1]s summary\n%[1]s_sum %[2]v\n%[1]s_count %[3]d\n", name, seconds*1000, n)
}

// exposed returns the name of a metric for Prometheus.
func exposed(name string) string { return strings.ReplaceAll(name, ".", "_") }

// expose appends metrics of a kind, which are sorted by name, to a text.
func expose(text []byte, kind string, list []api.GaugeValue) []byte {
	last := ""
	for _, g := range list {
		name := exposed(g.Name)
		if name != last {
			text = fmt.Appendf(text, "# HELP %s %s\n# TYPE %s %s\n", name, name, name, kind)
			last = name
		}
		text = append(text, name...)
		for i, label := range slices.Sorted(maps.Keys(g.DisplayLabels)) {
			text = append(text, "{,"[min(i, 1)])
			text = fmt.Appendf(text, `%s="%s"`, label, labelText.Replace(g.DisplayLabels[label]))
		}
		if len(g.DisplayLabels) > 0 {
			text = append(text, '}')
		}
		text = fmt.Appendf(text, " %v\n", g.Value)
	}
	return text
}

var labelText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
