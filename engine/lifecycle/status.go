package lifecycle

import "github.com/hashicorp/nomad/api"

// Status returns the allocation's client status and its description, computed
// from all tasks including poststop ones.
func Status(t *Tally) (status, description string) {
	var failed, running, pending int
	for _, c := range t.counts {
		failed += c.failed
		running += c.running
		pending += c.pending
	}
	switch {
	case failed > 0:
		return api.AllocClientStatusFailed, "Failed tasks"
	case running > 0:
		return api.AllocClientStatusRunning, "Tasks are running"
	case pending > 0:
		return api.AllocClientStatusPending, "No tasks have started"
	default:
		return api.AllocClientStatusComplete, "All tasks have completed"
	}
}
