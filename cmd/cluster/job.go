package cluster

import (
	"context"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
)

// gone is the status of a job that the cluster no longer has, in addition to
// Nomad's own statuses.
const gone = "gone"

// dead is Nomad's status of a job, and state of a task, that has ended; running is
// that of a task that runs.
const (
	dead    = "dead"
	running = "running"
)

// Job is a job of a cluster to follow.
type Job struct {
	*api.Job // as registered in the cluster
	Server   *client.Server
	// EvalID is the evaluation of its registration, or empty: until that is
	// complete, the job may still look dead.
	EvalID string
	// Over contains the IDs of allocations and launched jobs that had ended
	// before; they are ignored.
	Over map[string]bool
}

// Launches reports whether the job launches others.
func (j *Job) Launches() bool { return j.IsPeriodic() || j.IsParameterized() }

// LeaveOutEnded ignores the allocations and launched jobs that have ended.
func (j *Job) LeaveOutEnded(ctx context.Context) error {
	allocs, _, err := j.Server.Allocations(ctx, *j.ID, 0)
	if err != nil {
		return err
	}
	for _, s := range allocs {
		j.Over[s.ID] = client.Ended(s)
	}
	if !j.Launches() {
		return nil
	}
	children, _, err := j.Server.Children(ctx, *j.ID, 0)
	for _, s := range children {
		j.Over[s.ID] = s.Status == dead
	}
	return err
}
