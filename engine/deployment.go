package engine

import (
	"slices"
	"time"

	"taskrun/engine/health"
)

// Deployment is a snapshot of a deployment.
type Deployment struct {
	ID          string
	Job         string // ID
	Version     uint64 // of the job
	Began       time.Time
	Status      string
	Description string
	Groups      map[string]DeploymentGroup
}

// DeploymentGroup is a snapshot of a group that takes part in a deployment.
type DeploymentGroup struct {
	health.DeploymentGroup
	PlacedCanaries []string // IDs
}

// deploymentRecord is what is stored of a deployment.
type deploymentRecord struct {
	ID    string    `json:"id"`
	Began time.Time `json:"began"`
	*health.Deployment

	unsaved             bool
	status, description string // that were told
}

// deployments are those of the versions of a job, the newest last.
type deployments []*deploymentRecord

// of returns the deployment of a version; nil if it has none.
func (l deployments) of(version uint64) *deploymentRecord {
	for _, d := range slices.Backward(l) {
		if d.Version == version {
			return d
		}
	}
	return nil
}
