package lifecycle

import "github.com/hashicorp/nomad/api"

// Status returns the allocation's client status and its description, from all
// tasks, poststop ones included.
func Status(tasks []Task) (status, description string) {
	var failed, running, pending bool
	for _, t := range tasks {
		switch t.Phase {
		case Pending:
			pending = true
		case Running:
			running = true
		case Dead:
			failed = failed || t.Failed
		}
	}
	switch {
	case failed:
		return api.AllocClientStatusFailed, "Failed tasks"
	case running:
		return api.AllocClientStatusRunning, "Tasks are running"
	case pending:
		return api.AllocClientStatusPending, "No tasks have started"
	default:
		return api.AllocClientStatusComplete, "All tasks have completed"
	}
}
