package answer

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/health"
	"taskrun/jobspec/visible"
)

// Rollout shows the progress of deployments: a line, or an object of type
// "deployment", for each change.
type Rollout struct {
	To
	last string // that was written
}

type rollout struct {
	Job         string                  `json:"job"`
	ID          string                  `json:"id"`
	Version     uint64                  `json:"version"`
	Status      string                  `json:"status"`
	Description string                  `json:"description"`
	Groups      map[string]rolloutGroup `json:"groups"`
}

type rolloutGroup struct {
	Desired   int  `json:"desired"`
	Placed    int  `json:"placed"`
	Healthy   int  `json:"healthy"`
	Unhealthy int  `json:"unhealthy"`
	Canaries  int  `json:"canaries"`
	Promoted  bool `json:"promoted"`
}

// Show writes the state of a deployment if it has changed.
func (r *Rollout) Show(d *api.Deployment) error {
	line := r.line(d)
	if line == r.last {
		return nil
	}
	r.last, r.At = line, time.Now()
	groups := map[string]rolloutGroup{}
	for name, g := range d.TaskGroups {
		groups[name] = rolloutGroup{g.DesiredTotal, g.PlacedAllocs, g.HealthyAllocs, g.UnhealthyAllocs, g.DesiredCanaries, g.Promoted}
	}
	item := rollout{d.JobID, d.ID, d.JobVersion, d.Status, d.StatusDescription, groups}
	return write(r.To, "deployment", []rollout{item}, nil, func(out io.Writer) { fmt.Fprintln(out, line) })
}

func (r *Rollout) line(d *api.Deployment) string {
	style := r.style()
	text := fmt.Sprintf("version %d: %s", d.JobVersion, d.StatusDescription)
	switch d.Status {
	case health.DeploymentSuccessful:
		return style.Good("✓ " + visible.String(text))
	case health.DeploymentFailed, health.DeploymentCancelled:
		return style.Bad("✗ " + visible.String(text))
	}
	for _, name := range slices.Sorted(maps.Keys(d.TaskGroups)) {
		g := d.TaskGroups[name]
		text += fmt.Sprintf("; %s: %d of %d healthy", name, g.HealthyAllocs, g.DesiredTotal)
		if g.DesiredCanaries > 0 && !g.Promoted {
			text += fmt.Sprintf(", %d of %d canaries placed", len(g.PlacedCanaries), g.DesiredCanaries)
		}
	}
	return style.Waiting("○ " + visible.String(text))
}
